export interface Reason {
  /** Unique for each button. */
  readonly key: string;
  /** Label of the disabled button. */
  readonly label: string;
  readonly why: string;
}

export interface ReasonLine {
  readonly why: string;
  readonly text: string;
}

/** One line for each different reason. `named`: after the labels of its buttons, for a group of several. */
export function reasonLines(reasons: readonly Reason[], { named }: { readonly named: boolean }) {
  return [...Map.groupBy(reasons, ({ why }) => why)].map(([why, same]): ReasonLine => {
    const labels = [...new Set(same.map(({ label }) => label))].filter((label) => label !== '');
    return { why, text: named && labels.length > 0 ? `${labels.join(', ')}: ${why}` : why };
  });
}
