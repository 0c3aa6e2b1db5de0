import { Tooltip } from '@base-ui/react/tooltip';
import { useId, useState, type ReactElement } from 'react';

interface WithTooltipProps {
  readonly why: string;
  /** For content that is not a control, so that keyboard users reach the tooltip. */
  readonly focusable?: boolean;
  readonly children: ReactElement;
}

/** Tooltip on hover, keyboard focus and tap, also for screen readers. */
export function WithTooltip({ why, focusable = false, children }: WithTooltipProps) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  // Touch screens have no hover.
  const open = (): void => setOpen(true);
  const trigger = focusable ? (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <span className="inline-flex rounded-sm" aria-describedby={id} tabIndex={0} onPointerUp={open} />
  ) : (
    <span className="inline-flex" aria-describedby={id} onPointerUp={open} />
  );
  return (
    <Tooltip.Root open={isOpen} onOpenChange={setOpen}>
      <Tooltip.Trigger render={trigger} closeOnClick={false} delay={150}>
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
