import type { Item } from '@millrace/sdk';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { SearchX } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useApiQuery } from '../../../api/queries.ts';
import { Badge, StateBadge } from '../../../ui/badge.tsx';
import { CommandHint, CopyButton } from '../../../ui/copy.tsx';
import { FilterField, TextField } from '../../../ui/field.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { useDebounced } from '../../../ui/logic/use-debounced.ts';
import { HeadlineMoney } from '../../../ui/money.tsx';
import { Card, PageHeader } from '../../../ui/page.tsx';
import type { Column } from '../../../ui/table.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { operatorPage } from '../common/operator-page.tsx';
import { Form } from '../../../ui/form.tsx';
import { TextLink } from '../../../ui/link.tsx';

const route = getRouteApi('/shell/inside/operator/organisations');

type Organisation = Item<'adminListOrganisations'>;

export const OrganisationsPage = operatorPage('Organisations', Organisations);

const columnsOf = (supplierIds: ReadonlySet<string>): readonly Column<Organisation>[] => [
  {
    head: 'Name',
    main: true,
    cell: ({ id, name, slug }) => (
      <>
        <span className="inline-flex items-center gap-1">
          <TextLink to="/operator/organisations/$organisationId" params={{ organisationId: id }}>
            {name}
          </TextLink>
          <CopyButton text={id} what={`ID of ${name}`} />
          {supplierIds.has(id) && <Badge>supplier</Badge>}
        </span>
        <span className="text-soft block text-xs font-normal">{slug}</span>
      </>
    ),
  },
  {
    head: 'Status',
    cell: ({ status, suspendedReason }) => (
      <>
        <StateBadge state={status} />
        {suspendedReason !== null && <span className="text-soft block text-xs">{suspendedReason}</span>}
      </>
    ),
  },
  {
    head: 'Balance',
    right: true,
    cell: ({ balanceNanoUsd }) => <HeadlineMoney nano={balanceNanoUsd} />,
  },
  { head: 'Created', cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
];

function useSupplierIds() {
  return useApiQuery(['admin', 'suppliers', 'ids'], async (client, signal) => {
    const suppliers = await client.admin.suppliers.list({ status: 'approved', limit: 200 }, { signal }).all();
    return new Set<string>(suppliers.map(({ organisationId }) => organisationId));
  });
}

const noSuppliers: ReadonlySet<string> = new Set();

const typingPauseMs = 250;

function Organisations() {
  const { find, status } = route.useSearch();
  const navigate = route.useNavigate();
  // The URL follows the input at once; the request waits for a pause.
  const search = useDebounced(find, typingPauseMs);
  const filter = { ...(search === undefined ? {} : { search }), ...(status === undefined ? {} : { status }) };
  const pages = usePages(['admin', 'organisations', filter], (client, signal) =>
    client.admin.organisations.list({ ...filter, limit: 50 }, { signal }),
  );
  const suppliers = useSupplierIds();
  const columns = useMemo(() => columnsOf(suppliers.data ?? noSuppliers), [suppliers.data]);
  return (
    <>
      <PageHeader
        title="Organisations"
        about="Your tenants. An organisation has members, a balance and rentals; people create one when they sign up."
        actions={<CreateOrganisation />}
      />
      <Card>
        <Form role="search" className="grid grid-cols-1 gap-3 sm:grid-cols-2">
          <TextField
            label="Search"
            type="search"
            placeholder="name or slug"
            value={find ?? ''}
            maxLength={100}
            onValue={(next) =>
              void navigate({ search: (before) => ({ ...before, find: next || undefined }), replace: true })
            }
          />
          <FilterField
            label="Status"
            value={status}
            all="All"
            choices={[
              { value: 'active', label: 'Active' },
              { value: 'suspended', label: 'Suspended' },
            ]}
            onValue={(next) => void navigate({ search: (before) => ({ ...before, status: next }) })}
          />
        </Form>
      </Card>
      <Card flush>
        <PagedTable
          pages={pages}
          isWaiting={suppliers.isLoading}
          what="organisations"
          caption="Organisations"
          columns={columns}
          icon={SearchX}
          empty="No organisations match"
          hint="Try a shorter search, or all statuses."
        />
      </Card>
      <CommandHint command="millrace admin org list" />
    </>
  );
}

function CreateOrganisation() {
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  return (
    <ActionButton
      run={(client, reason) =>
        client.admin.organisations.create({ name: name.trim(), owner: { email: email.trim() }, reason })
      }
      label="Create organisation"
      size="medium"
      title="Create organisation"
      doing="Creating…"
      done={(organisation) => `${organisation.name} was created.`}
      wait={
        (name.trim() === '' && 'Enter a name.') || (email.trim() === '' && "Enter the owner's email address.")
      }
      onDone={({ id }) =>
        void navigate({ to: '/operator/organisations/$organisationId', params: { organisationId: id } })
      }
    >
      <TextField label="Name" value={name} maxLength={100} issue="name" onValue={setName} />
      <TextField
        label="Owner's email address"
        hint="The user with this address becomes the owner. A new address creates a user."
        type="email"
        value={email}
        issue="owner.email"
        onValue={setEmail}
      />
    </ActionButton>
  );
}
