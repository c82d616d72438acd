/** What a client that keeps nothing has told in this life, by order. */
export function told() {
  const states = new Map();
  return {
    /** Follows a call; several of one order are one intention: done once any is. */
    follow(order, call) {
      if (states.get(order) !== "succeeded") states.set(order, "pending");
      call.then(
        () => states.set(order, "succeeded"),
        () => states.get(order) === "succeeded" || states.set(order, "failed"),
      );
    },
    set: (order, state) => states.set(order, state),
    status: (order) => states.get(order) ?? "none",
  };
}
