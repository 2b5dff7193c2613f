// The scout: explores at random, then tells the learner where episodes end badly and where the goal is.
// It perceives hazard(S) and goal_at(S) of what it met itself, known(N) how many of these, and partner(JID) of the learner.

!start.
+!start <- !!explore.

@explore
+!explore : left(N) & N > 0 & budget(B) <- .option(explore, 1, B, budget); !!explore.
@enough
+!explore <- !!report.

@tell
+!report : partner(P) & known(N) <-
    for (hazard(S)) { .send(P, tell, hazard(S)) };
    for (goal_at(S)) { .send(P, tell, goal_at(S)) };
    .send(P, tell, reported(N));
    .wait("+heard(_)", 5000);
    !confirmed.

+!confirmed : heard(N) <- .finish.
@again
+!confirmed <- !!report.

+!resend <- !!report.
