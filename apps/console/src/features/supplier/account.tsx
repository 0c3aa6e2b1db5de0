import { ApiError } from '@millrace/sdk';
import { useEffect, useState, type ReactNode } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { PageHeader } from '../../ui/page.tsx';
import { Loading, Note, QueryView } from '../../ui/states.tsx';
import type { Account } from './application/supplier-account.ts';
import { ApplicationPage } from './application/application-page.tsx';
import { RequireScope } from '../../app/require-scope.tsx';

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
        {data === undefined && <PageHeader title={title} />}
        <QueryView query={account} what="supplier account">
          {(known) => <ApplicationPage account={known} />}
        </QueryView>
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
