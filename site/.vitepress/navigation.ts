import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { DefaultTheme } from "vitepress";
import { entries, importName } from "../../scripts/entries.mjs";

const exists = (page: string) => existsSync(fileURLToPath(new URL(`../../docs/${page}.md`, import.meta.url)));

/** The pages of a group, in order; those that are not written yet are left out. */
const group = (text: string, pages: readonly (readonly [text: string, page: string])[]): DefaultTheme.SidebarItem => ({
  text,
  items: pages.filter(([, page]) => exists(page)).map(([title, page]) => ({ text: title, link: `/${page}` })),
});

const start = group("Start", [
  ["Quick start", "quick-start"],
  ["Concepts", "concepts"],
  ["Guide", "guide"],
  ["Examples", "examples"],
  ["Limits", "limits"],
]);

const web = group("In a page", [
  ["Checkout page", "recipes/checkout-page"],
  ["App that works offline", "recipes/offline-app"],
  ["React", "react"],
  ["Background Sync", "service-worker"],
  ["Inspector", "inspector"],
]);

const client = group("In any client", [
  ["Wrapping an SDK", "recipes/wrapping-an-sdk"],
  ["Wrapped fetch", "fetch"],
  ["Libraries over it", "sdks"],
  ["Profiles of APIs", "profiles"],
  ["Testing your app", "recipes/testing-your-app"],
  ["Test tools", "testing"],
]);

const backend = group("On a server", [
  ["Queue worker", "recipes/queue-worker"],
  ["Server to server", "recipes/server-to-server"],
  ["The server half", "server"],
  ["Postgres store", "postgres-store"],
  ["Doctor", "doctor"],
  ["Scale", "scale"],
]);

const onCall = group("On call", [
  ["Operating a store", "operating"],
  ["Telemetry", "telemetry"],
  ["Storage", "storage"],
  ["Security", "security"],
  ["Sealed stores", "sealing"],
]);

const behind = group("Behind it", [
  ["Architecture", "ARCHITECTURE"],
  ["Proof", "proof"],
  ["Comparison", "comparison"],
  ["The public surface", "api"],
]);

const reference: DefaultTheme.SidebarItem = {
  text: "Reference",
  items: entries.map(([subpath]) => ({ text: importName(subpath), link: `/reference/${importName(subpath)}` })),
};

export const sidebar: DefaultTheme.SidebarItem[] = [start, web, client, backend, onCall, behind, reference];

export const nav: DefaultTheme.NavItem[] = [
  { text: "Quick start", link: "/quick-start" },
  { text: "Web", link: "/recipes/checkout-page" },
  { text: "Server", link: "/server" },
  { text: "On call", link: "/operating" },
  { text: "Reference", link: "/reference/samekey" },
].filter(({ link }) => link.startsWith("/reference/") || exists(link.slice(1)));
