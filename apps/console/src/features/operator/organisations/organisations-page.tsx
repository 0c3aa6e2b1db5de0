import type { Item } from '@millrace/sdk';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { StateBadge } from '../../../ui/badge.tsx';
import { CommandHint, Id } from '../../../ui/copy.tsx';
import { FilterField, TextField } from '../../../ui/field.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { useDebounced } from '../../../ui/use-debounced.ts';
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

const columns: readonly Column<Organisation>[] = [
  {
    head: 'Name',
    main: true,
    cell: ({ id, name, slug }) => (
      <>
        <TextLink to="/operator/organisations/$organisationId" params={{ organisationId: id }}>
          {name}
        </TextLink>
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
  const filter = { ...(search === undefined ? {} : { search }), ...(status === undefined ? {} : { status }) };
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
        <Form role="search" className="grid grid-cols-1 gap-3 sm:grid-cols-2">
          <TextField
            label="Find"
            type="search"
            placeholder="a part of the name or short name"
            value={find ?? ''}
            maxLength={100}
            onValue={(next) =>
              void navigate({ search: (before) => ({ ...before, find: next || undefined }), replace: true })
            }
          />
          <FilterField
            label="State"
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
          what="organisations"
          caption="Organisations"
          columns={columns}
          empty="No organisation fits"
          hint="Try a shorter part of its name, or look at all states."
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
      <TextField label="Name" value={name} maxLength={100} issue="name" onValue={setName} />
      <TextField
        label="Email address of its owner"
        hint="The user with this address becomes the owner. An unknown address gets a new user."
        type="email"
        value={email}
        issue="owner.email"
        onValue={setEmail}
      />
    </ActionButton>
  );
}
