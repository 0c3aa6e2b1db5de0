import { ApiError, type Output } from '@millrace/sdk';
import { useEffect, useState, type ReactNode } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { fieldIssue } from '../../api/problem.ts';
import { useApiMutation, useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { TextArea, TextField } from '../../ui/field.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Loading, Note, Problem, QueryView } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Timestamp } from '../../ui/time.tsx';
import { RequireScope } from '../../app/require-scope.tsx';
import { Form } from '../../ui/form.tsx';
import { TextLink } from '../../ui/link.tsx';

export type Account = Output<'supplierGetAccount'>;

/** Supplier account; null if the organisation has not applied. */
function useAccount() {
  return useApiQuery(
    ['supplier', 'account'],
    async (client, signal): Promise<Account | null> => {
      try {
        return await client.supplier.getAccount({}, { signal });
      } catch (error) {
        if (error instanceof ApiError && error.reason === 'SUPPLIER_NOT_FOUND') return null;
        throw error;
      }
    },
    { refetchMs: (account) => (account?.status === 'applied' ? 5_000 : false) },
  );
}

/** Wraps supplier pages: others see the application form or its status. */
export function RequireSupplier({
  title,
  children,
}: Readonly<{ title: string; children: (account: Account) => ReactNode }>) {
  return (
    <RequireScope
      scope="organisation:read"
      title={title}
      who="The supplier status is visible to members of the organisation."
    >
      <SupplierGate title={title}>{children}</SupplierGate>
    </RequireScope>
  );
}

function SupplierGate(props: Readonly<{ title: string; children: (account: Account) => ReactNode }>) {
  const { title, children } = props;
  const session = useSession();
  const account = useAccount();
  const { data } = account;
  if (data == null || data.status === 'applied' || data.status === 'rejected') {
    return (
      <>
        <PageHeader title={title} about="Rent out your own GPU machines on the marketplace." />
        <QueryView query={account} what="supplier account">
          {(known) => <ApplicationPending account={known} />}
        </QueryView>
        <CommandHint command="millrace supplier account" />
      </>
    );
  }
  if (session.place.mode === 'live' && !session.may('supplier:read')) return <FreshRights title={title} />;
  return (
    <RequireScope
      scope="supplier:read"
      title={title}
      who="This page is for owners and admins of an organisation that supplies machines. Ask an owner to change your role."
    >
      {data.status === 'suspended' && (
        <div className="mb-4">
          <Note tone="bad">
            Your supplier account is suspended{data.statusReason !== null && `: ${data.statusReason}`}. Your
            machines cannot be rented. Running instances continue and keep earning.
          </Note>
        </div>
      )}
      {children(data)}
    </RequireScope>
  );
}

/** Reloads the user's scopes once, because approval changes them. */
function FreshRights({ title }: Readonly<{ title: string }>) {
  const cache = useQueryClient();
  const { place } = useSession();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    void cache
      .refetchQueries({ queryKey: [place.organisationId, place.mode, 'me'] })
      .then(() => setOpen(true));
  }, [cache, place]);
  if (!isOpen) return <Loading what="your permissions" />;
  return (
    <RequireScope
      scope="supplier:read"
      title={title}
      who="This page is for owners and admins of an organisation that supplies machines. Ask an owner to change your role."
    >
      {null}
    </RequireScope>
  );
}

function ApplicationPending({ account }: Readonly<{ account: Account | null }>) {
  if (account?.status === 'applied') {
    return (
      <Card title="Application">
        <Note>
          {account.name} applied on <Timestamp at={account.appliedAt} />. The operator reviews it. This page
          updates automatically.
        </Note>
      </Card>
    );
  }
  return <Apply refused={account} />;
}

function Apply({ refused }: Readonly<{ refused: Account | null }>) {
  const { me, mayNot } = useSession();
  const toast = useToast();
  const [name, setName] = useState(refused?.name ?? me.organisation.name);
  const [about, setAbout] = useState(refused?.about ?? '');
  const apply = useApiMutation(
    (client, request: { readonly name: string; readonly about: string }) => client.supplier.apply(request),
    { changes: ['supplier'], onSuccess: () => toast('Application sent', 'The operator will review it.') },
  );
  return (
    <Card title="Become a supplier">
      <div className="flex max-w-xl flex-col gap-3">
        {refused !== null && (
          <Note tone="warn">
            Your last application was rejected{refused.statusReason !== null && `: ${refused.statusReason}`}.
            You can apply again.
          </Note>
        )}
        <ol className="text-soft list-decimal pl-5">
          <li>Apply. The operator approves you and sets the fee.</li>
          <li>Run one command on each host. Millrace gets access to one project of its Incus daemon only.</li>
          <li>Set a price per GPU-hour. You are paid for every second, less the fee.</li>
        </ol>
        <Form
          className="flex flex-col gap-3"
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
        <p className="text-soft text-xs">
          See your machines as tenants do on the <TextLink to="/marketplace">marketplace</TextLink>.
        </p>
      </div>
    </Card>
  );
}
