import { useState } from 'react';
import { fieldIssue } from '../../../api/problem.ts';
import { useApiMutation } from '../../../api/queries.ts';
import { useSession } from '../../../api/session.tsx';
import { Button } from '../../../ui/button.tsx';
import { TextArea, TextField } from '../../../ui/field.tsx';
import { Form } from '../../../ui/form.tsx';
import { Card } from '../../../ui/page.tsx';
import { Note, Problem } from '../../../ui/states.tsx';
import { useToast } from '../../../ui/toast.tsx';
import type { Account } from './supplier-account.ts';

/** Applies to become a supplier; `refused` is the last application, if it was rejected. */
export function ApplyForm({ refused }: Readonly<{ refused: Account | null }>) {
  const { me, mayNot } = useSession();
  const toast = useToast();
  const [name, setName] = useState(refused?.name ?? me.organisation.name);
  const [about, setAbout] = useState(refused?.about ?? '');
  const apply = useApiMutation(
    (client, request: { readonly name: string; readonly about: string }) => client.supplier.apply(request),
    { changes: ['supplier'], onSuccess: () => toast('Application sent', 'This page shows its progress.') },
  );
  return (
    <Card title="Apply" about="Free and without obligation.">
      {refused !== null && (
        <div className="mb-3">
          <Note tone="warn">
            Your last application was rejected{refused.statusReason !== null && `: ${refused.statusReason}`}.
            You can apply again.
          </Note>
        </div>
      )}
      <Form
        className="flex max-w-xl flex-col gap-3"
        onSend={() => {
          if (name.trim() !== '') apply.mutate({ name: name.trim(), about: about.trim() });
        }}
      >
        <TextField
          label="Name on the marketplace"
          value={name}
          maxLength={100}
          error={fieldIssue(apply.error, 'name')}
          onValue={setName}
        />
        <TextArea
          label="About you (optional)"
          hint="Your machines, their location and connection. Only the operator sees this."
          rows={3}
          maxLength={2_000}
          value={about}
          error={fieldIssue(apply.error, 'about')}
          onValue={setAbout}
        />
        {apply.error !== null && <Problem error={apply.error} doing="apply" />}
        <div>
          <Button
            type="submit"
            kind="primary"
            busy={apply.isPending && 'Applying…'}
            off={mayNot('organisation:write') || (name.trim() === '' && 'Enter a name.')}
          >
            Apply
          </Button>
        </div>
      </Form>
    </Card>
  );
}
