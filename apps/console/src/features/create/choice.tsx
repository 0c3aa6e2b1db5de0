import type { ReactNode } from 'react';

/** Radio button as a clickable tile. */
export function ChoiceTile({
  name,
  checked,
  onChoose,
  children,
}: {
  readonly name: string;
  readonly checked: boolean;
  readonly onChoose: () => void;
  readonly children: ReactNode;
}) {
  return (
    <label
      className={`flex h-full cursor-pointer items-start gap-2 rounded-md border px-3 py-2 ${checked ? 'border-accent bg-accent-soft' : 'border-line hover:bg-raised'}`}
    >
      <input
        type="radio"
        name={name}
        checked={checked}
        onChange={onChoose}
        className="accent-accent mt-0.5 size-4 shrink-0"
      />
      <span className="flex min-w-0 flex-col gap-0.5">{children}</span>
    </label>
  );
}

export function ChoiceGroup(props: Readonly<{ legend: string; hint?: ReactNode; children: ReactNode }>) {
  const { legend, hint, children } = props;
  return (
    <fieldset className="min-w-0">
      <legend className="font-medium">{legend}</legend>
      {hint !== undefined && <p className="text-soft text-xs">{hint}</p>}
      <div className="mt-1 grid grid-cols-1 gap-2 sm:grid-cols-2">{children}</div>
    </fieldset>
  );
}
