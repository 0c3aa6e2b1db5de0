import type { Millrace } from '@millrace/sdk';
import { useState, type ReactNode } from 'react';
import { useApiMutation, type ResourceName } from '../../../api/queries.ts';
import { useSession } from '../../../api/session.tsx';
import { Button, type ButtonKind } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { TextField } from '../../../ui/field.tsx';
import { Problem } from '../../../ui/states.tsx';
import { useToast } from '../../../ui/toast.tsx';
import { reasonIssue, REASON_MAX_LENGTH } from './reason.ts';
import { Form, FormButtons } from '../../../ui/form.tsx';

export interface ActionProps<Output> {
  /** The word on the button, such as `Drain`; also on the one that does it. */
  readonly label: string;
  /** Names the thing, such as `Drain gpu-17`. */
  readonly title: string;
  /** The word while it is being done, such as `Draining…`. */
  readonly doing: string;
  /** What is said when it is done. */
  readonly done: string | ((response: Output) => string);
  readonly needs?: 'admin:write' | 'admin:money';
  readonly kind?: ButtonKind;
  readonly size?: 'small' | 'medium';
  /** Why it cannot be done at all. */
  readonly off?: string | false | undefined;
  /** What is still missing in the fields. */
  readonly wait?: string | false | undefined;
  readonly run: (client: Millrace, reason: string) => Promise<Output>;
  readonly changes?: readonly ResourceName[];
  /** Told when it was done, before the dialog closes. */
  readonly onDone?: (response: Output) => void;
  readonly onOpen?: () => void;
  /** False where a field of the act is the reason itself. */
  readonly needsReason?: boolean;
  /** What happens and what does not; fields, where there are any. */
  readonly children?: ReactNode;
}

/**
 * One act of an operator: a button that says why it is off, and a dialog that says what will happen and asks for the reason
 * that goes to the audit log.
 */
export function ActionButton<Output>(props: ActionProps<Output>) {
  const { mayNot } = useSession();
  const [isOpen, setOpen] = useState(false);
  const off = mayNot(props.needs ?? 'admin:write') || props.off;
  const { kind = 'plain', size = 'small', onOpen } = props;
  return (
    <>
      <Button
        kind={kind}
        size={size}
        off={off}
        onClick={() => {
          onOpen?.();
          setOpen(true);
        }}
      >
        {props.label}
      </Button>
      <Dialog title={props.title} open={isOpen} onClose={() => setOpen(false)}>
        {isOpen && <ActionForm {...props} onClose={() => setOpen(false)} />}
      </Dialog>
    </>
  );
}

function ActionForm<Output>({
  label,
  doing,
  done,
  kind,
  wait,
  run,
  changes = ['admin'],
  onDone,
  onClose,
  needsReason = true,
  children,
}: ActionProps<Output> & { readonly onClose: () => void }) {
  const toast = useToast();
  const [reason, setReason] = useState('');
  const doIt = useApiMutation((client, why: string) => run(client, why), {
    changes,
    onSuccess: (response) => {
      toast(typeof done === 'string' ? done : done(response));
      onDone?.(response);
      onClose();
    },
  });
  const issue = wait || (needsReason && reasonIssue(reason));
  return (
    <Form
      error={doIt.error}
      className="flex flex-col gap-3"
      onSend={() => {
        if (issue === false && !doIt.isPending) doIt.mutate(reason.trim());
      }}
    >
      {children}
      {needsReason && (
        <TextField
          label="Reason"
          hint="Kept in the audit log with your name."
          value={reason}
          maxLength={REASON_MAX_LENGTH}
          autoComplete="off"
          issue="reason"
          onValue={setReason}
        />
      )}
      {doIt.error !== null && <Problem error={doIt.error} />}
      <FormButtons
        onClose={onClose}
        kind={kind === 'danger' ? 'danger' : 'primary'}
        busy={doIt.isPending && doing}
        off={issue}
      >
        {label}
      </FormButtons>
    </Form>
  );
}
