import { Tooltip } from '@base-ui/react/tooltip';
import { useId, type ReactElement } from 'react';

/** Tooltip on hover and keyboard focus, also for screen readers. */
export function WithTooltip({ why, children }: Readonly<{ why: string; children: ReactElement }>) {
  const id = useId();
  return (
    <Tooltip.Root>
      <Tooltip.Trigger render={<span className="inline-flex" aria-describedby={id} />} delay={150}>
        {children}
      </Tooltip.Trigger>
      <span id={id} className="sr-only">
        {why}
      </span>
      <Tooltip.Portal>
        <Tooltip.Positioner sideOffset={6} className="z-50">
          <Tooltip.Popup className="bg-ink text-ground max-w-72 rounded-md px-2.5 py-1.5 text-xs shadow-lg">
            {why}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
