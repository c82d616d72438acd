import { type OperationRecord, waitsLong } from "../core/record.js";
import type { Sdk } from "../index.js";
import { confirm } from "./confirmation.js";
import { type Decision, decisionsOn } from "./decisions.js";
import { detailOf } from "./detail.js";
import { button, make, time } from "./dom.js";

/** One operation: a line that unfolds. It stays the same element while the operation changes, so that the focus stays. */
export class Row {
  readonly element: HTMLElement = make("li");
  readonly #sdk: Sdk;
  readonly #button: HTMLElement;
  readonly #detail: HTMLElement;
  readonly #content: HTMLElement = make("div");
  readonly #actions: HTMLElement = make("p", { class: "actions" });
  readonly #fault: HTMLElement = make("p", { role: "alert" });
  #record: OperationRecord;
  #isUnfolded = false;

  constructor(sdk: Sdk, record: OperationRecord) {
    this.#sdk = sdk;
    this.#record = record;
    const id = `detail-${record.id}`;
    this.#button = button("", () => this.#toggle(), { class: "row", "aria-expanded": "false", "aria-controls": id });
    this.#detail = make("div", { class: "detail", id, hidden: true }, this.#content, this.#actions, this.#fault);
    this.element.append(make("h3", {}, this.#button), this.#detail);
    this.#render();
  }

  show(record: OperationRecord): void {
    if (record.rev === this.#record.rev) return;
    this.#record = record;
    this.#render();
  }

  #toggle(): void {
    this.#isUnfolded = !this.#isUnfolded;
    this.#button.setAttribute("aria-expanded", String(this.#isUnfolded));
    this.#detail.hidden = !this.#isUnfolded;
    this.#render();
  }

  #render(): void {
    const { state, name, intent, blockedBy, code, attempts, createdAt, nextAttemptAt } = this.#record;
    const until = waitsLong(this.#record) ? `until ${new Date(nextAttemptAt).toLocaleString()}` : undefined;
    const why = blockedBy ?? until ?? (code === state ? undefined : code);
    this.#button.replaceChildren(
      make("span", { class: `state ${state}` }, state),
      " ",
      make("span", { class: "what" }, [name, intent, why && `(${why.replaceAll("_", " ")})`].filter(Boolean).join(" ")),
      " ",
      make("span", { class: "tries" }, attempts === 1 ? "1 attempt" : `${attempts} attempts`),
      " ",
      time(createdAt),
    );
    if (!this.#isUnfolded) return;
    const unfolded = this.#content.querySelector("details")?.open ?? false;
    this.#content.replaceChildren(...detailOf(this.#record));
    const body = this.#content.querySelector("details");
    if (body) body.open = unfolded;
    this.#offer(decisionsOn(this.#record, Date.now()));
  }

  /** Buttons that are still right stay, and with them the focus. */
  #offer(decisions: readonly Decision[]): void {
    const labels = decisions.map(({ label }) => label);
    const offered = [...this.#actions.children].map(({ textContent }) => textContent);
    if (labels.join("\n") === offered.join("\n")) return;
    const root = this.element.getRootNode() as Document | ShadowRoot;
    const hadFocus = this.#actions.contains(root.activeElement);
    this.#actions.replaceChildren(...decisions.map((decision) => button(decision.label, () => this.#decide(decision))));
    if (hadFocus) this.#button.focus();
  }

  async #decide(decision: Decision): Promise<void> {
    this.#fault.textContent = "";
    const reason = await confirm(this.element.getRootNode() as ShadowRoot, decision);
    if (reason === undefined) return;
    try {
      await decision.act(this.#sdk, reason);
    } catch (error) {
      this.#fault.textContent = (error as Error).message;
    }
  }
}
