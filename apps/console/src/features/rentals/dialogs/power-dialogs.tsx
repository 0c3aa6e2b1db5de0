import { useId, useState, type ReactNode } from 'react';
import { useApiMutation } from '../../../api/queries.ts';
import { CommandHint } from '../../../ui/copy.tsx';
import { ConfirmDialog, Dialog } from '../../../ui/dialog.tsx';
import { CheckboxField } from '../../../ui/field.tsx';
import { Money, PerHour } from '../../../ui/money.tsx';
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

/** Off, with the GPUs kept or given back: what each costs on, and that given back may be gone. */
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
        toast(`${rentalTitle(rental)} is being switched off`);
        onClose();
      },
    },
  );
  const flag = choice === 'release' ? ' --release' : '';
  return (
    <Dialog
      title={`Stop ${rentalTitle(rental)}?`}
      about="Its disk is kept. What runs on it is shut down."
      open={open}
      onClose={onClose}
    >
      <Form className="flex flex-col gap-4" onSend={() => stop.mutate(choice === 'release')}>
        <fieldset className="flex flex-col gap-3">
          <legend className="mb-2 font-medium">What about its GPUs?</legend>
          {!isOff && (
            <Option
              name="gpus"
              isChosen={choice === 'keep'}
              onChoose={() => setRequest('keep')}
              label="Keep them"
              about={
                <>
                  It starts again at any time. It costs on: <PerHour usd={rental.currentTerm.costPerHour} />
                </>
              }
            />
          )}
          <Option
            name="gpus"
            isChosen={choice === 'release'}
            onChoose={() => setRequest('release')}
            label="Give them back"
            off={
              !canRelease &&
              (rental.currentTerm.termType === 'reserved'
                ? 'A reserved term is paid for to its end, so this would save nothing.'
                : 'This rental cannot give its GPUs back: they come with its disk.')
            }
            about={
              <>
                Only its disk costs on: <Money nano={rental.releasedCostPerHourNanoUsd ?? '0'} />
                <span className="text-soft">/h</span>. Others may rent them meanwhile; without free ones it
                stays off when you start it.
              </>
            }
          />
        </fieldset>
        {choice === 'release' && (
          <Note tone="warn">To start it again its host needs free GPUs. There may be none.</Note>
        )}
        {stop.error !== null && <Problem error={stop.error} doing="stop it" />}
        <CommandHint command={`millrace rental stop ${rentalHandle(rental)}${flag}`} />
        <FormButtons onClose={onClose} cancel="Leave it on" busy={stop.isPending && 'Stopping…'}>
          {choice === 'release' ? 'Stop and give the GPUs back' : 'Stop'}
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
      onDone={(toast) => toast(`${rentalTitle(rental)} is being rebooted`)}
    >
      <p>What runs on it ends, and what was not written to disk is lost. Its disk and its GPUs stay.</p>
      <p>It costs on while it reboots, as it does when it runs.</p>
      <CheckboxField
        label="It hangs: switch it off hard"
        hint="Without this it is asked to shut down first."
        checked={force}
        onValue={setForce}
      />
    </ConfirmDialog>
  );
}
