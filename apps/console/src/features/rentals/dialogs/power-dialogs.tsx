import { useId, useState, type ReactNode } from 'react';
import { useApiMutation } from '../../../api/queries.ts';
import { CommandHint } from '../../../ui/copy.tsx';
import { ConfirmDialog, Dialog } from '../../../ui/dialog.tsx';
import { CheckboxField } from '../../../ui/field.tsx';
import { LiveCost, Money, PerHour } from '../../../ui/money.tsx';
import { Note, Problem } from '../../../ui/states.tsx';
import { useToast } from '../../../ui/toast.tsx';
import { rentalHandle } from '@millrace/sdk/text';
import { rentalTitle, type Rental } from '../rental.ts';
import { Form, FormButtons } from '../../../ui/form.tsx';

interface PowerDialogProps {
  readonly rental: Rental;
  readonly open: boolean;
  readonly onClose: () => void;
}

/** Stops a rental and explains the cost of keeping or releasing its GPUs. */
export function StopDialog({ rental, open, onClose }: PowerDialogProps) {
  const canRelease = rental.releasedCostPerHourNanoUsd !== null;
  const isOff = rental.power === 'off';
  const [request, setRequest] = useState<'keep' | 'release' | null>(null);
  const choice = isOff ? 'release' : (request ?? 'keep');
  const toast = useToast();
  const stop = useApiMutation(
    (client, release: boolean) => client.rentals.stop({ rentalId: rental.id, release }),
    {
      changes: ['rentals', 'money'],
      onSuccess: () => {
        toast(`Stopping ${rentalTitle(rental)}`);
        onClose();
      },
    },
  );
  const flag = choice === 'release' ? ' --release' : '';
  return (
    <Dialog
      title={`Stop ${rentalTitle(rental)}?`}
      about="The disk is kept. Running programs end."
      open={open}
      onClose={onClose}
    >
      <Form className="flex flex-col gap-4" onSend={() => stop.mutate(choice === 'release')}>
        <fieldset className="flex flex-col gap-3">
          <legend className="mb-2 font-medium">GPUs</legend>
          {!isOff && (
            <Option
              name="gpus"
              isChosen={choice === 'keep'}
              onChoose={() => setRequest('keep')}
              label="Keep"
              about={
                <>
                  You can start again at any time. Billing continues at{' '}
                  <PerHour usd={rental.currentTerm.costPerHour} />
                  <LiveCost nano={rental.liveCostPerHourNanoUsd} perHour />
                </>
              }
            />
          )}
          <Option
            name="gpus"
            isChosen={choice === 'release'}
            onChoose={() => setRequest('release')}
            label="Release"
            off={
              !canRelease &&
              (rental.currentTerm.termType === 'reserved'
                ? 'The reserved term is prepaid, so releasing the GPUs saves nothing.'
                : 'This rental cannot release its GPUs, because they are bound to its disk.')
            }
            about={
              <>
                Only the disk keeps billing: <Money nano={rental.releasedCostPerHourNanoUsd ?? '0'} />
                <span className="text-soft">/h</span>. Others may rent the GPUs; if none are available, the
                machine cannot start.
                <LiveCost nano={rental.liveReleasedCostPerHourNanoUsd} perHour />
              </>
            }
          />
        </fieldset>
        {choice === 'release' && (
          <Note tone="warn">Starting again needs available GPUs on the host. There may be none.</Note>
        )}
        {stop.error !== null && <Problem error={stop.error} doing="stop the rental" />}
        <CommandHint command={`millrace rental stop ${rentalHandle(rental)}${flag}`} />
        <FormButtons onClose={onClose} cancel="Cancel" busy={stop.isPending && 'Stopping…'}>
          {choice === 'release' ? 'Stop and release GPUs' : 'Stop'}
        </FormButtons>
      </Form>
    </Dialog>
  );
}

interface OptionProps {
  readonly name: string;
  readonly label: string;
  readonly about: ReactNode;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
  readonly off?: string | false;
}

function Option({ name, label, about, isChosen, onChoose, off }: OptionProps) {
  const id = useId();
  const isOff = typeof off === 'string';
  return (
    <div
      className={`border-line flex items-start gap-2.5 rounded-md border p-3 ${isOff ? 'opacity-70' : ''}`}
    >
      <input
        id={id}
        type="radio"
        name={name}
        checked={isChosen}
        disabled={isOff}
        aria-describedby={`${id}-about`}
        onChange={onChoose}
        className="accent-accent mt-0.5 size-4 shrink-0"
      />
      <div>
        <label htmlFor={id} className="font-medium">
          {label}
        </label>
        <div id={`${id}-about`} className="text-soft text-xs">
          {isOff ? off : about}
        </div>
      </div>
    </div>
  );
}

export function RebootDialog({ rental, open, onClose }: PowerDialogProps) {
  const [force, setForce] = useState(false);
  return (
    <ConfirmDialog
      title={`Reboot ${rentalTitle(rental)}?`}
      open={open}
      onClose={onClose}
      action="Reboot"
      doing="Rebooting…"
      run={(client) => client.rentals.reboot({ rentalId: rental.id, force })}
      changes={['rentals']}
      onDone={(toast) => toast(`Rebooting ${rentalTitle(rental)}`)}
    >
      <p>Running programs end, and unsaved data is lost. Disk and GPUs stay.</p>
      <p>Billing continues during the reboot.</p>
      <CheckboxField
        label="Force power off"
        hint="For a machine that hangs. Otherwise the machine shuts down first."
        checked={force}
        onValue={setForce}
      />
    </ConfirmDialog>
  );
}
