import { type OperationRecord, STATES } from "../core/record.js";
import type { Sdk } from "../index.js";
import { make } from "./dom.js";
import { type Filter, onChange, readRecords } from "./records.js";
import { Row } from "./row.js";
import { style } from "./style.js";

const filters: readonly (readonly [Filter, string])[] = [
  ["open", "Not settled"],
  ["settled", "Settled"],
  ["all", "All"],
];

/** Made when it is asked for: where there is no DOM, there is no `HTMLElement` to extend. */
export function createElementClass(): CustomElementConstructor {
  return class SamekeyInspectorElement extends HTMLElement {
    static readonly isSamekeyInspector = true;
    readonly #list: HTMLElement = make("ul", { class: "operations" });
    readonly #counts: HTMLElement = make("p", { role: "status", class: "note" });
    readonly #note: HTMLElement = make("p", { class: "note" });
    #rows: ReadonlyMap<string, Row> = new Map();
    #filter: Filter = "open";
    #sdk: Sdk | undefined;
    #stop: (() => void) | undefined;
    #reading: Promise<void> | undefined;
    #isStale = false;

    constructor() {
      super();
      const root = this.attachShadow({ mode: "open" });
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(style);
      // A style element would be refused under `default-src 'self'`.
      root.adoptedStyleSheets = [sheet];
      root.append(
        make(
          "section",
          { "aria-labelledby": "heading" },
          make("h2", { id: "heading" }, "Operations"),
          this.#counts,
          make("fieldset", {}, make("legend", {}, "Show"), ...filters.map((filter) => this.#choice(...filter))),
          this.#note,
          this.#list,
        ),
      );
    }

    get sdk(): Sdk | undefined {
      return this.#sdk;
    }

    set sdk(sdk: Sdk | undefined) {
      this.#leave();
      this.#sdk = sdk;
      if (this.isConnected) this.#begin();
    }

    connectedCallback(): void {
      // Set before the element was defined, it hides the property.
      if (Object.hasOwn(this, "sdk")) {
        const { sdk } = this;
        Reflect.deleteProperty(this, "sdk");
        this.#sdk = sdk;
      }
      this.#begin();
    }

    disconnectedCallback(): void {
      this.#leave();
    }

    #begin(): void {
      if (this.#stop || !this.#sdk) return;
      this.#stop = onChange(this.#sdk, () => this.#refresh());
      this.#refresh();
    }

    #leave(): void {
      this.#stop?.();
      this.#stop = undefined;
      this.#show([]);
      this.#counts.textContent = "";
      this.#note.textContent = "";
    }

    /** One reading at a time; what changes meanwhile is read once more afterwards. */
    #refresh(): void {
      this.#isStale = true;
      this.#reading ??= this.#read().finally(() => {
        this.#reading = undefined;
      });
    }

    async #read(): Promise<void> {
      while (this.#isStale) {
        this.#isStale = false;
        const sdk = this.#sdk;
        const filter = this.#filter;
        if (!sdk || !this.#stop) return;
        try {
          const [records, counts] = await Promise.all([readRecords(sdk, filter), sdk.counts()]);
          if (sdk !== this.#sdk || filter !== this.#filter || !this.#stop) continue;
          this.#show(records);
          const told = STATES.flatMap((state) => (counts[state] ? [`${counts[state]} ${state}`] : []));
          const text = told.join(", ");
          if (this.#counts.textContent !== text) this.#counts.textContent = text;
          this.#note.textContent = records.length > 0 ? "" : "Nothing to show.";
        } catch (error) {
          this.#note.textContent = `The operations cannot be read: ${(error as Error).message}`;
        }
      }
    }

    #show(records: readonly OperationRecord[]): void {
      const sdk = this.#sdk;
      const rows = new Map<string, Row>();
      if (sdk) {
        for (const record of records) {
          const row = this.#rows.get(record.id) ?? new Row(sdk, record);
          row.show(record);
          rows.set(record.id, row);
        }
      }
      this.#rows = rows;
      const wanted = new Set<Element>([...rows.values()].map(({ element }) => element));
      let last: Element | undefined;
      // Their order never changes. One that stays is not moved: that would take its focus away.
      for (const element of wanted) {
        if (element.parentNode !== this.#list)
          this.#list.insertBefore(element, last ? last.nextSibling : this.#list.firstChild);
        last = element;
      }
      for (const element of [...this.#list.children]) if (!wanted.has(element)) this.#remove(element);
    }

    /** The focus goes to what takes its place, not to the top of the page. */
    #remove(element: Element): void {
      const had = element.contains(this.shadowRoot?.activeElement ?? null);
      const next = element.nextElementSibling ?? element.previousElementSibling;
      element.remove();
      const heir = next?.querySelector("button") ?? this.shadowRoot?.querySelector<HTMLElement>("input:checked");
      if (had) (heir as HTMLElement | null | undefined)?.focus();
    }

    #choice(filter: Filter, label: string): HTMLElement {
      const input = make("input", { type: "radio", name: "filter", value: filter, checked: filter === this.#filter });
      input.addEventListener("change", () => {
        this.#filter = filter;
        this.#refresh();
      });
      return make("label", {}, input, ` ${label}`);
    }
  };
}
