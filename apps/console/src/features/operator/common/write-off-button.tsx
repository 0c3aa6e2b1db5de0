import type { Millrace } from '@millrace/sdk';
import { useState, type ReactNode } from 'react';
import { CheckboxField } from '../../../ui/field.tsx';
import { ActionButton } from './action-button.tsx';

export interface WriteOffProps {
  readonly name: string;
  readonly off: string | false;
  readonly run: (
    client: Millrace,
    request: { readonly reason: string; readonly hostIsOff: true },
  ) => Promise<unknown>;
  /** Consequences for tenants, money and capacity. */
  readonly children: ReactNode;
}

/** Writes off a resource whose host never returns. The operator confirms that the host is off. */
export function WriteOffButton({ name, off, run, children }: WriteOffProps) {
  const [isOff, setIsOff] = useState(false);
  return (
    <ActionButton
      label="Write off"
      title={`Write off ${name}`}
      kind="danger"
      doing="Writing off…"
      done={`${name} was written off.`}
      off={off}
      wait={!isOff && 'Confirm that the host is off.'}
      onOpen={() => setIsOff(false)}
      run={(client, reason) => run(client, { reason, hostIsOff: true })}
    >
      {children}
      <CheckboxField label="The host is permanently off or disconnected" checked={isOff} onValue={setIsOff} />
    </ActionButton>
  );
}
