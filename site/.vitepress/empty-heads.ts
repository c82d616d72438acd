import type { MarkdownRenderer } from "vitepress";

/** A table's head cell without text is no head: assistive technology would announce an empty one. */
export function plainEmptyHeads(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push("plain-empty-heads", ({ tokens }) => {
    for (const [at, token] of tokens.entries()) {
      const [content, end] = [tokens[at + 1], tokens[at + 2]];
      if (token.type !== "th_open" || content?.content !== "" || end?.type !== "th_close") continue;
      token.tag = "td";
      end.tag = "td";
    }
  });
}
