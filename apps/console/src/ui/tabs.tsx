import { Tabs as Base } from '@base-ui/react/tabs';
import type { ReactNode } from 'react';

export interface Tab {
  readonly id: string;
  readonly label: string;
  readonly content: () => ReactNode;
}

/** Tabs whose selection is in the URL: the page passes it in and handles changes. */
export function Tabs({
  tabs,
  open,
  onOpen,
  label,
}: Readonly<{ tabs: readonly Tab[]; open: string; onOpen: (id: string) => void; label: string }>) {
  return (
    <Base.Root value={open} onValueChange={(value) => onOpen(String(value))}>
      <Base.List aria-label={label} className="border-line mb-4 flex flex-wrap gap-x-1 border-b">
        {tabs.map(({ id, label: words }) => (
          <Base.Tab
            key={id}
            value={id}
            className="text-soft data-[active]:border-accent data-[active]:text-ink -mb-px border-b-2 border-transparent px-2 py-2 sm:px-3 font-medium whitespace-nowrap"
          >
            {words}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map(({ id, content }) => (
        <Base.Panel key={id} value={id}>
          {id === open ? content() : null}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
