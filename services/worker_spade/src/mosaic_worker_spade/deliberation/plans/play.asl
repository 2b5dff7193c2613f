// Shows what was learned: every single step is decided here.
// It perceives state(S), cell(Row, Column) where there is a grid, confidence(C) of the best action, episode(N), left(N).
// .best_action(State, Action) reads the table, .act(Action) does it.

!start.
+!start <- !!step.

@done
+!step : left(N) & N <= 0 <- .finish.

@sure
+!step : state(S) & confidence(C) & C >= 0.5 <- .best_action(S, A); .act(A); !!step.

@unsure
+!step : state(S) <- .best_action(S, A); .act(A); !!step.
