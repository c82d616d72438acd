const words = { succeeded: "succeeded", pending: "pending", blocked: "pending", unresolved: "review" };

/** What is the same in Node and in the browser. */
export function app(sdk) {
  sdk.start();
  const unsaved = new Set();
  return {
    submit(order) {
      sdk
        .operation("transfer", { order }, { intent: order })
        .outcome()
        .then(({ state }) => {
          if (state === "unsaved") unsaved.add(order);
        });
    },
    async status(order) {
      const record = await sdk.find({ name: "transfer", intent: order });
      if (!record) return unsaved.has(order) ? "failed" : "none";
      return words[record.state] ?? "failed";
    },
  };
}
