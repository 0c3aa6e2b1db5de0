import type { Millrace } from '@millrace/sdk';
import { useState, type ReactNode } from 'react';
import { useApiMutation, type ResourceName } from '../../../api/queries.ts';
import { useSession } from '../../../api/session.tsx';
import { useCreateHash } from '../../../app/use-create-hash.ts';
import { Button, type ButtonKind } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { TextField } from '../../../ui/field.tsx';
import { Problem } from '../../../ui/states.tsx';
import { useToast } from '../../../ui/toast.tsx';
import { reasonIssue, REASON_MAX_LENGTH } from './reason.ts';
import { Form, FormButtons } from '../../../ui/form.tsx';

export interface ActionProps<Output> {
  /** Label of the button and of the confirming button, such as `Drain`. */
  readonly label: string;
  /** Dialog title, such as `Drain gpu-17`. */
  readonly title: string;
  /** Label while the action runs, such as `Draining…`. */
  readonly doing: string;
  /** Toast after success. */
  readonly done: string | ((response: Output) => string);
  readonly needs?: 'admin:write' | 'admin:money';
  readonly kind?: ButtonKind;
  readonly size?: 'small' | 'medium';
  readonly off?: string | false | undefined;
  /** Which input is missing. */
  readonly wait?: string | false | undefined;
  readonly run: (client: Millrace, reason: string) => Promise<Output>;
  readonly changes?: readonly ResourceName[];
  /** Called after success, before the dialog closes. */
  readonly onDone?: (response: Output) => void;
  readonly onOpen?: () => void;
  /** True for the main action of a page: a link that ends in `#create` opens it. */
  readonly opensByHash?: boolean;
  /** False if another field is the reason. */
  readonly needsReason?: boolean;
  readonly children?: ReactNode;
}

/** Operator action: a button, and a dialog that explains the consequences and asks for the reason for the audit log. */
export function ActionButton<Output>(props: ActionProps<Output>) {
  const { mayNot } = useSession();
  const [isOpen, setOpen] = useState(false);
  const off = mayNot(props.needs ?? 'admin:write') || (props.off ?? false);
  const { kind = 'plain', size = 'small', onOpen } = props;
  const open = (): void => {
    onOpen?.();
    setOpen(true);
  };
  return (
    <>
      {props.opensByHash === true && off === false && <CreateHash open={open} />}
      <Button kind={kind} size={size} off={off} onClick={open}>
        {props.label}
      </Button>
      <Dialog title={props.title} open={isOpen} onClose={() => setOpen(false)}>
        {isOpen && <ActionForm {...props} onClose={() => setOpen(false)} />}
      </Dialog>
    </>
  );
}

function CreateHash({ open }: Readonly<{ open: () => void }>) {
  useCreateHash(open);
  return null;
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
          hint="Stored in the audit log with your name."
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
