import type { Item } from '@millrace/sdk';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { fieldIssue } from '../../../api/problem.ts';
import { StateBadge } from '../../../ui/badge.tsx';
import { CommandHint, Id } from '../../../ui/copy.tsx';
import { SelectField, TextField } from '../../../ui/field.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { useDebounced } from '../../../ui/use-debounced.ts';
import { Card, PageHeader } from '../../../ui/page.tsx';
import { EmptyState } from '../../../ui/states.tsx';
import type { Column } from '../../../ui/table.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { RequireOperator } from '../common/require-operator.tsx';

const route = getRouteApi('/shell/inside/operator/organisations');

type Organisation = Item<'adminListOrganisations'>;

export function OrganisationsPage() {
  return (
    <RequireOperator title="Organisations">
      <Organisations />
    </RequireOperator>
  );
}

const columns: readonly Column<Organisation>[] = [
  {
    head: 'Name',
    main: true,
    cell: ({ id, name, slug }) => (
      <>
        <Link
          to="/operator/organisations/$organisationId"
          params={{ organisationId: id }}
          className="underline"
        >
          {name}
        </Link>
        <span className="text-soft block text-xs font-normal">{slug}</span>
      </>
    ),
  },
  {
    head: 'State',
    cell: ({ status, suspendedReason }) => (
      <>
        <StateBadge state={status} />
        {suspendedReason !== null && <span className="text-soft block text-xs">{suspendedReason}</span>}
      </>
    ),
  },
  { head: 'Since', cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
  { head: 'Id', cell: ({ id }) => <Id value={id} what="organisation id" /> },
];

const typingPauseMs = 250;

function Organisations() {
  const { find, status } = route.useSearch();
  const navigate = route.useNavigate();
  // The URL has what is typed at once; the service is asked once the typing pauses.
  const search = useDebounced(find, typingPauseMs);
  const filter = {
    ...(search === undefined ? {} : { search }),
    ...(status === undefined ? {} : { status }),
  };
  const pages = usePages(['admin', 'organisations', filter], (client, signal) =>
    client.admin.organisations.list({ ...filter, limit: 50 }, { signal }),
  );
  return (
    <>
      <PageHeader
        title="Organisations"
        about="Everybody who has an account on this installation."
        actions={<CreateOrganisation />}
      />
      <Card>
        <form
          role="search"
          className="grid grid-cols-1 gap-3 sm:grid-cols-2"
          onSubmit={(event) => event.preventDefault()}
        >
          <TextField
            label="Find"
            type="search"
            placeholder="a part of the name or short name"
            value={find ?? ''}
            maxLength={100}
            onChange={(event) => {
              const next = event.target.value === '' ? undefined : event.target.value;
              void navigate({ search: (before) => ({ ...before, find: next }), replace: true });
            }}
          />
          <SelectField
            label="State"
            value={status ?? ''}
            choices={[
              { value: '', label: 'All' },
              { value: 'active', label: 'Active' },
              { value: 'suspended', label: 'Suspended' },
            ]}
            onChange={(event) => {
              const next = (['active', 'suspended'] as const).find((each) => each === event.target.value);
              void navigate({ search: (before) => ({ ...before, status: next }) });
            }}
          />
        </form>
      </Card>
      <Card flush>
        <PagedTable
          pages={pages}
          what="organisations"
          caption="Organisations"
          columns={columns}
          rowKey={({ id }) => id}
          empty={
            <EmptyState title="No organisation fits">
              Try a shorter part of its name, or look at all states.
            </EmptyState>
          }
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
      label="Create an organisation"
      size="medium"
      title="Create an organisation"
      doing="Creating…"
      done={(organisation) => `${organisation.name} is there.`}
      wait={(name.trim() === '' && 'Give it a name.') || (email.trim() === '' && 'Say who owns it.')}
      onDone={({ id }) =>
        void navigate({ to: '/operator/organisations/$organisationId', params: { organisationId: id } })
      }
    >
      {(error: unknown) => (
        <>
          <TextField
            label="Name"
            value={name}
            maxLength={100}
            error={fieldIssue(error, 'name')}
            onChange={(event) => setName(event.target.value)}
          />
          <TextField
            label="Email address of its owner"
            hint="Somebody with this address becomes the owner; who is not known yet is created."
            type="email"
            value={email}
            error={fieldIssue(error, 'owner.email')}
            onChange={(event) => setEmail(event.target.value)}
          />
        </>
      )}
    </ActionButton>
  );
}
