import type { Decision } from "./decisions.js";
import { button, make } from "./dom.js";

/**
 * Asks for a decision in a dialog, which keeps the keyboard to itself and gives the focus back.
 *
 * @returns what was written as the reason; `undefined` when it was left
 */
export function confirm(parent: ParentNode & Node, { label, means, reason }: Decision): Promise<string | undefined> {
  const text = reason === undefined ? undefined : make("textarea", { required: true, rows: "3", id: "reason" });
  const dialog = make("dialog", { "aria-labelledby": "question", "aria-describedby": "means" });
  const form = make(
    "form",
    { method: "dialog" },
    make("h2", { id: "question" }, `${label}?`),
    make("p", { id: "means" }, means),
    text && make("label", { for: "reason" }, reason ?? ""),
    text,
    make(
      "p",
      { class: "actions" },
      button("Leave it", () => dialog.close()),
      make("button", { value: "yes" }, label),
    ),
  );
  dialog.append(form);
  parent.append(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes" ? (text?.value.trim() ?? "") : undefined);
    });
    dialog.showModal();
  });
}
