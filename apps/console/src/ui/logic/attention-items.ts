/** Something that the user should look at, with a link to its cause. */
export interface AttentionItem {
  readonly key: string;
  readonly tone: 'bad' | 'warn' | 'info';
  readonly title: string;
  readonly detail: string;
  readonly to: string;
  readonly search?: Readonly<Record<string, string>>;
}

const order = { bad: 0, warn: 1, info: 2 } as const;

/** The most serious first. Of several with the same key, only the first is kept. */
export function sortAttention(items: readonly AttentionItem[]): readonly AttentionItem[] {
  return items
    .filter(({ key }, index) => items.findIndex((item) => item.key === key) === index)
    .toSorted((a, b) => order[a.tone] - order[b.tone]);
}
