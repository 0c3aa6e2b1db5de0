import type { Output } from '@millrace/sdk';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useApiMutation } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { useToast } from '../../ui/toast.tsx';
import { machineActionDisabledReason } from './machine-action-reason.ts';

type Machine = Output<'supplierGetMachine'>;

export function MachineActions({ machine }: Readonly<{ machine: Machine }>) {
  const { mayNot } = useSession();
  const toast = useToast();
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<'drain' | 'withdraw' | null>(null);
  const { id, name } = machine;
  const changes = ['supplier', 'marketplace'] as const;
  const resume = useApiMutation(
    (client, machineId: string) => client.supplier.machines.resume({ machineId }),
    { changes, onSuccess: () => toast(`${name} is back in service`) },
  );
  const noWrite = mayNot('supplier:write');
  const close = (): void => setDialog(null);
  return (
    <>
      <Button
        off={noWrite || machineActionDisabledReason('drain', machine)}
        onClick={() => setDialog('drain')}
      >
        Drain
      </Button>
      <Button
        busy={resume.isPending && 'Resuming…'}
        off={noWrite || machineActionDisabledReason('resume', machine)}
        onClick={() =>
          resume.mutate(id, { onError: (error) => toast('Could not resume the machine', error.message) })
        }
      >
        Resume
      </Button>
      <Button
        kind="danger"
        off={noWrite || machineActionDisabledReason('withdraw', machine)}
        onClick={() => setDialog('withdraw')}
      >
        Withdraw
      </Button>
      <ConfirmDialog
        title={`Drain ${name}?`}
        open={dialog === 'drain'}
        onClose={close}
        action="Drain"
        doing="Draining…"
        run={(client) => client.supplier.machines.drain({ machineId: id })}
        changes={changes}
        onDone={() => toast(`${name} is draining`)}
      >
        <p>
          The machine accepts no new instances. {machine.gpusRented} GPUs are rented and keep earning until
          their tenants terminate.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        title={`Withdraw ${name}?`}
        open={dialog === 'withdraw'}
        onClose={close}
        action="Withdraw"
        doing="Withdrawing…"
        run={(client) => client.supplier.machines.withdraw({ machineId: id })}
        changes={changes}
        onDone={() => {
          toast(`${name} was withdrawn`);
          void navigate({ to: '/supplier/machines' });
        }}
      >
        <p>
          The machine and its history are permanently removed from the marketplace. You keep what it earned.
        </p>
        <p>
          To add the machine again, create a new join token. Remove Millrace’s certificate from the machine.
        </p>
      </ConfirmDialog>
    </>
  );
}
