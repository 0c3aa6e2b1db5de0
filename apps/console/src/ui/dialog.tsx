import type { Millrace } from '@millrace/sdk';
import { AlertDialog } from '@base-ui/react/alert-dialog';
import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import { useState, type ReactNode } from 'react';
import { useApiMutation, type ResourceName } from '../api/queries.ts';
import { Button } from './button.tsx';
import { TextField } from './field.tsx';
import { WithoutReasons } from './reasons.tsx';
import { Problem } from './states.tsx';
import { useToast } from './toast.tsx';

const backdrop = 'fixed inset-0 z-40 bg-veil';
const popup =
  'border-line bg-surface fixed top-1/2 left-1/2 z-40 flex max-h-[calc(100dvh-2rem)] w-[calc(100vw-2rem)] max-w-lg -translate-x-1/2 -translate-y-1/2 flex-col overflow-hidden rounded-lg border shadow-xl';

/** Modal dialog; Escape or a click outside closes it. */
export function Dialog({
  title,
  about,
  open,
  onClose,
  children,
}: Readonly<{ title: string; about?: ReactNode; open: boolean; onClose: () => void; children: ReactNode }>) {
  return (
    <Base.Root open={open} onOpenChange={(next) => (next ? undefined : onClose())}>
      <Base.Portal>
        <Base.Backdrop className={backdrop} />
        <Base.Popup className={popup}>
          <div className="border-line flex items-start justify-between gap-3 border-b px-4 py-3">
            <div>
              <Base.Title className="text-base font-semibold">{title}</Base.Title>
              {about !== undefined && (
                <Base.Description render={<div />} className="text-soft text-xs">
                  {about}
                </Base.Description>
              )}
            </div>
            <Base.Close aria-label="Close" className="text-soft hover:bg-raised rounded p-1">
              <X aria-hidden className="size-4" />
            </Base.Close>
          </div>
          <div className="overflow-y-auto p-4">
            <WithoutReasons>{children}</WithoutReasons>
          </div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

interface ConfirmDialogProps<Output> {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  /** Button label, such as `Terminate`. */
  readonly action: string;
  /** Button label while the action runs, such as `Terminating…`. */
  readonly doing: string;
  readonly run: (client: Millrace) => Promise<Output>;
  readonly changes: readonly ResourceName[];
  /** Called after success, before the dialog closes. */
  readonly onDone?: (toast: ReturnType<typeof useToast>, response: Output) => void;
  /** Text that the user must type to confirm. */
  readonly typed?: string;
  readonly children: ReactNode;
}

/**
 * Asks for confirmation: names the resource, says what is lost and what keeps billing. If data is destroyed, the user
 * must type the name.
 */
export function ConfirmDialog<Output>(props: ConfirmDialogProps<Output>) {
  const { title, open, onClose, action: label, doing, run, changes, onDone, typed, children } = props;
  const [words, setWords] = useState('');
  const toast = useToast();
  const action = useApiMutation<null, Output>((client) => run(client), {
    changes,
    onSuccess: (response) => {
      onDone?.(toast, response);
      close();
    },
  });
  const close = (): void => {
    setWords('');
    // Keep a running request, so that its failure shows when the dialog is opened again.
    if (!action.isPending) action.reset();
    onClose();
  };
  const isTyped = typed === undefined || words === typed;
  return (
    <AlertDialog.Root open={open} onOpenChange={(next) => (next ? undefined : close())}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={backdrop} />
        <AlertDialog.Popup className={popup}>
          <WithoutReasons>
            <div className="flex flex-col gap-3 overflow-y-auto p-4">
              <AlertDialog.Title className="text-base font-semibold">{title}</AlertDialog.Title>
              <AlertDialog.Description render={<div />} className="flex flex-col gap-2">
                {children}
              </AlertDialog.Description>
              {typed !== undefined && (
                <TextField
                  label={`Type ${typed} to confirm`}
                  value={words}
                  autoComplete="off"
                  onValue={setWords}
                />
              )}
              {action.error !== null && <Problem error={action.error} />}
              <div className="flex justify-end gap-2">
                <Button onClick={close}>Cancel</Button>
                <Button
                  kind="danger"
                  busy={action.isPending && doing}
                  off={!isTyped && `Type ${typed} to confirm.`}
                  onClick={() => action.mutate(null)}
                >
                  {label}
                </Button>
              </div>
            </div>
          </WithoutReasons>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
