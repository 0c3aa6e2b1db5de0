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

/** The account as a supplier; null where nobody has applied. */
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

/** Pages of suppliers: those who are none yet are shown how to become one, and those who wait what they wait for. */
export function RequireSupplier({
  title,
  children,
}: Readonly<{ title: string; children: (account: Account) => ReactNode }>) {
  return (
    <RequireScope
      scope="organisation:read"
      title={title}
      who="How an organisation stands as a supplier is for its members to see."
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
        <PageHeader title={title} about="Rent out your own machines with GPUs on the marketplace." />
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
            Your account as a supplier is suspended{data.statusReason !== null && `: ${data.statusReason}`}.
            Nothing of yours is shown or rented anew; what is rented goes on and goes on earning.
          </Note>
        </div>
      )}
      {children(data)}
    </RequireScope>
  );
}

/** Rights change when the operator approves: what this person may do is asked for anew, once. */
function FreshRights({ title }: Readonly<{ title: string }>) {
  const cache = useQueryClient();
  const { place } = useSession();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    void cache
      .refetchQueries({ queryKey: [place.organisationId, place.mode, 'me'] })
      .then(() => setOpen(true));
  }, [cache, place]);
  if (!isOpen) return <Loading what="your rights as a supplier" />;
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
      <Card title="Your application">
        <Note>
          {account.name} applied on <Timestamp at={account.appliedAt} />. The operator decides; this page
          shows it as soon as it happens.
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
    { changes: ['supplier'], onSuccess: () => toast('Applied', 'The operator decides about it.') },
  );
  return (
    <Card title="Become a supplier">
      <div className="flex max-w-xl flex-col gap-3">
        {refused !== null && (
          <Note tone="warn">
            Your last application was refused{refused.statusReason !== null && `: ${refused.statusReason}`}.
            You may apply again.
          </Note>
        )}
        <ol className="text-soft list-decimal pl-5">
          <li>You apply, and the operator approves it and says which fee it keeps.</li>
          <li>You run one command on each host. Millrace gets one project of its Incus daemon, no more.</li>
          <li>You set a price for one GPU and hour. You are paid for each second, less the fee.</li>
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
            hint="Which machines, where, how they are connected. The operator reads it."
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
              off={mayNot('organisation:write') || (name.trim() === '' && 'Give a name first.')}
            >
              Apply
            </Button>
          </div>
        </Form>
        <p className="text-soft text-xs">
          What tenants see is on the <TextLink to="/marketplace">marketplace</TextLink>.
        </p>
      </div>
    </Card>
  );
}
