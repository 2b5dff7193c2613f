// How the learner spends its steps. After every option it deliberates again: the first plan whose context holds is taken.
//
// What it perceives:  left(N) steps left, episodes(N), successes(N), rate(R) of successes over the last 100 episodes,
//   epsilon(E), budget(N) steps an option, surprise(What, Size), partner(JID) of the scout, where there is one.
// What it can do:     .option(Name, Epsilon, Steps, Until) learn for a while; Epsilon is a number or anneal, Until is
//   goal, surprise or budget.  .set_epsilon(E)  .avoid(State)  .aim(State)  .finish

!start.

// With a scout: wait for its report, so that learning begins with what it knows.
@with_scout
+!start : partner(P) <- .wait("+all_told", 60000); !ready.
+!start <- !!train.

@told
+!ready : goal_at(G) & told_epsilon(E) <- .set_epsilon(E); !!train.
+!ready : all_told <- !!train.
@alone
+!ready <- .print("no report from the scout: learning alone"); !!train.

@done
+!train : left(N) & N <= 0 <- .finish.

@replan
+!train : surprise(What, Size) & budget(B) & replan_epsilon(E) <-
    -surprise(What, Size);
    .set_epsilon(E);
    .option(replan, anneal, B, budget);
    !!train.

@discover
+!train : successes(0) & not goal_at(_) & budget(B) & epsilon(E) <-
    .option(discover, E, B, goal);
    !!train.

@exploit
+!train : epsilon(E) & epsilon_end(F) & E <= F & budget(B) <-
    .option(exploit, F, B, surprise);
    !!train.

@learn
+!train : budget(B) <-
    .option(learn, anneal, B, surprise);
    !!train.

// Whatever goes wrong above, learning goes on.
@recover
-!train : budget(B) <- .option(learn, anneal, B, budget); !!train.

// What the scout tells.
+hazard(S)[source(P)] : partner(P) <- .avoid(S).
+goal_at(S)[source(P)] : partner(P) <- .aim(S).
@complete
+reported(N)[source(P)] : partner(P) & .count(hazard(_)[source(P)], H) & .count(goal_at(_)[source(P)], G) & H + G >= N <-
    .send(P, tell, heard(N));
    +all_told.
@incomplete
+reported(N)[source(P)] : partner(P) <- -reported(N)[source(P)]; .send(P, achieve, resend).
