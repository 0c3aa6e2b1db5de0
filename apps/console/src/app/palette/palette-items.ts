import type { LucideIcon } from 'lucide-react';

/** One line of the command palette: a page, an action or a resource. */
export interface PaletteItem {
  /** Unique over all groups. */
  readonly id: string;
  readonly group: string;
  readonly label: string;
  /** Further words that are shown, such as an id or a state. */
  readonly detail?: string;
  /** Ids and addresses to find it by. */
  readonly ids?: readonly string[];
  /** Further words to find it by, such as synonyms. */
  readonly terms: readonly string[];
  readonly icon: LucideIcon;
  /** Opens a path of the console, or does something else. */
  readonly target: { readonly href: string } | { readonly run: () => void };
}

export interface PaletteGroup {
  readonly value: string;
  readonly items: readonly PaletteItem[];
}

const MAX_PER_GROUP = 6;

/** Without a query, every group is shown in full. */
export function groupItems(items: readonly PaletteItem[], query: string): readonly PaletteGroup[] {
  const words = toWords(query);
  const ranked = items.flatMap((item) => {
    const rank = words.length === 0 ? 0 : rankOf(item, words);
    return rank === null ? [] : [{ item, rank }];
  });
  const max = words.length === 0 ? ranked.length : MAX_PER_GROUP;
  return [...Map.groupBy(ranked, ({ item }) => item.group)]
    .map(([value, found]) => ({ value, found: found.toSorted((a, b) => a.rank - b.rank).slice(0, max) }))
    .toSorted((a, b) => (a.found[0]?.rank ?? 0) - (b.found[0]?.rank ?? 0))
    .map(({ value, found }) => ({ value, items: found.map(({ item }) => item) }));
}

function toWords(text: string): readonly string[] {
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
}

/** Best first. `synonym` is for pages and actions, which stand before resources that only contain the query. */
const ranks = [
  'name',
  'name prefix',
  'id',
  'id prefix',
  'word of name',
  'synonym',
  'in name',
  'in id',
  'elsewhere',
] as const;

/** Lower is better; null if a word of the query is missing. */
function rankOf(item: PaletteItem, words: readonly string[]): number | null {
  const label = item.label.toLowerCase();
  const ids = (item.ids ?? []).map((id) => id.toLowerCase());
  const terms = [item.detail ?? '', ...item.terms].map((term) => term.toLowerCase());
  if (!words.every((word) => [label, ...ids, ...terms].some((text) => text.includes(word)))) return null;
  const query = words.join(' ');
  const startsWord = (text: string): boolean =>
    ` ${text.replaceAll(/[^\p{L}\p{N}]+/gu, ' ')}`.includes(` ${query}`);
  const matches: Readonly<Record<(typeof ranks)[number], boolean>> = {
    name: label === query,
    'name prefix': label.startsWith(query),
    id: ids.includes(query),
    'id prefix': ids.some((id) => id.startsWith(query)),
    'word of name': startsWord(label),
    synonym: item.ids === undefined && terms.some(startsWord),
    'in name': label.includes(query),
    'in id': ids.some((id) => id.includes(query)),
    elsewhere: true,
  };
  return ranks.findIndex((rank) => matches[rank]);
}

/** The number of a rental; null if the text is none. */
export function asRentalId(query: string): number | null {
  return /^[1-9]\d{0,8}$/.test(query) ? Number(query) : null;
}
