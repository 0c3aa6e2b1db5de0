import type { Output, Item } from '@millrace/sdk';
import { getRouteApi } from '@tanstack/react-router';
import { Users } from 'lucide-react';
import { useState } from 'react';
import { useApiQuery } from '../../../api/queries.ts';
import { useSession } from '../../../api/session.tsx';
import { Badge, StateBadge } from '../../../ui/badge.tsx';
import { CommandHint, CopyButton } from '../../../ui/copy.tsx';
import { CheckboxField, SelectField, TextField } from '../../../ui/field.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Card, PageHeader } from '../../../ui/page.tsx';
import { Note } from '../../../ui/states.tsx';
import { QueryPage } from '../../../ui/query-page.tsx';
import type { Column } from '../../../ui/table.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { Discounts } from './discounts.tsx';
import { OrganisationAudit } from './organisation-audit.tsx';
import { operatorPage } from '../common/operator-page.tsx';
import { OrganisationMoney } from './organisation-money.tsx';
import { RentalTable } from '../rentals/rental-table.tsx';
import { organisationTabs } from '../common/search-params.ts';
import { TextLink } from '../../../ui/link.tsx';

const route = getRouteApi('/shell/inside/operator/organisations/$organisationId');

type Organisation = Output<'adminGetOrganisation'>;

export const OrganisationPage = operatorPage('Organisation', Loaded);

function Loaded() {
  const { organisationId } = route.useParams();
  const organisation = useApiQuery(
    ['admin', 'organisation', organisationId],
    (client, signal) => client.admin.organisations.get({ organisationId }, { signal }),
    { refetchMs: 10_000 },
  );
  return (
    <QueryPage
      query={organisation}
      title="Organisation"
      what="organisation"
      back={<TextLink to="/operator/organisations">Organisations</TextLink>}
    >
      {(loaded) => <Detail organisation={loaded} />}
    </QueryPage>
  );
}

function Detail({ organisation }: Readonly<{ organisation: Organisation }>) {
  const { id, name, status, suspendedReason, suspendedAt } = organisation;
  const { tab = 'money' } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <PageHeader
        title={name}
        back={<TextLink to="/operator/organisations">Organisations</TextLink>}
        about={
          <span className="flex flex-wrap items-center gap-2">
            <StateBadge state={status} />
            <span className="inline-flex items-center gap-1">
              {organisation.slug} <CopyButton text={id} what="organisation ID" />
            </span>
          </span>
        }
        actions={<StatusAction organisation={organisation} />}
      />
      {status === 'suspended' && (
        <div className="mb-4">
          <Note tone="bad">
            Suspended
            {suspendedAt !== null && (
              <>
                {' '}
                since <Timestamp at={suspendedAt} />
              </>
            )}
            : {suspendedReason}. Its API keys and members have no access.
          </Note>
        </div>
      )}
      <Tabs
        label="Organisation"
        open={tab}
        onOpen={(next) => {
          const to = organisationTabs.find((each) => each === next);
          void navigate({ search: to === undefined || to === 'money' ? {} : { tab: to } });
        }}
        tabs={[
          { id: 'money', label: 'Money', content: () => <OrganisationMoney organisation={organisation} /> },
          { id: 'members', label: 'Members', content: () => <Members organisation={organisation} /> },
          {
            id: 'rentals',
            label: 'Rentals',
            content: () => (
              <Card flush>
                <RentalTable filter={{ organisationId: id }} empty="No rentals" />
              </Card>
            ),
          },
          { id: 'discounts', label: 'Discounts', content: () => <Discounts organisation={organisation} /> },
          { id: 'audit', label: 'Audit log', content: () => <OrganisationAudit organisationId={id} /> },
        ]}
      />
      <CommandHint command={`millrace admin org get ${id}`} />
    </>
  );
}

function StatusAction({ organisation }: Readonly<{ organisation: Organisation }>) {
  const { place } = useSession();
  const { id: organisationId, name, status } = organisation;
  const [endsWork, setEndsWork] = useState(false);
  if (status === 'suspended') {
    return (
      <ActionButton
        label="Lift suspension"
        size="medium"
        title={`Lift the suspension of ${name}`}
        doing="Lifting…"
        done={`${name} is active again.`}
        run={(client, reason) => client.admin.organisations.resume({ organisationId, reason })}
      >
        <p>API keys and members get access again within a second.</p>
      </ActionButton>
    );
  }
  return (
    <ActionButton
      label="Suspend"
      size="medium"
      kind="danger"
      title={`Suspend ${name}`}
      doing="Suspending…"
      done={`${name} is suspended.`}
      off={
        place.organisationId === organisationId &&
        'You are using this organisation now. Suspending it would lock you out.'
      }
      run={(client, reason) =>
        client.admin.organisations.suspend({
          organisationId,
          reason,
          runningWork: endsWork ? 'stop' : 'keep',
        })
      }
    >
      <p>API keys and members lose all access within a second.</p>
      <p>Members see the reason.</p>
      <CheckboxField
        label="Also terminate its rentals"
        hint="Permanently terminates all rentals within seconds; volumes are kept. Otherwise rentals keep running and keep billing."
        checked={endsWork}
        onValue={setEndsWork}
      />
    </ActionButton>
  );
}

const memberColumns: readonly Column<Item<'adminListMembers'>>[] = [
  {
    head: 'User',
    main: true,
    cell: ({ name, email, userId }) => (
      <>
        <span className="inline-flex items-center gap-1">
          {name ?? email} <CopyButton text={userId} what={`user ID of ${name ?? email}`} />
        </span>
        <span className="text-soft block text-xs font-normal">{email}</span>
      </>
    ),
  },
  { head: 'Role', cell: ({ role }) => <Badge>{role}</Badge> },
  { head: 'Since', cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
];

const roles = ['owner', 'admin', 'member', 'billing', 'viewer'] as const;

function Members({ organisation }: Readonly<{ organisation: Organisation }>) {
  const { id: organisationId, name } = organisation;
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<(typeof roles)[number]>('member');
  const pages = usePages(['admin', 'organisation', organisationId, 'members'], (client, signal) =>
    client.admin.organisations.listMembers({ organisationId, limit: 50 }, { signal }),
  );
  return (
    <Card
      title="Members"
      flush
      actions={
        <ActionButton
          label="Add member"
          title={`Add a member to ${name}`}
          doing="Adding…"
          done="Added."
          wait={email.trim() === '' && 'Enter an email address.'}
          run={(client, reason) =>
            client.admin.organisations.addMember({ organisationId, email: email.trim(), role, reason })
          }
        >
          <TextField label="Email address" type="email" value={email} issue="email" onValue={setEmail} />
          <SelectField label="Role" value={role} choices={roles} onValue={setRole} />
        </ActionButton>
      }
    >
      <PagedTable
        pages={pages}
        what="members"
        caption={`Members of ${name}`}
        columns={memberColumns}
        icon={Users}
        empty="No members"
        hint="Add an owner who can manage the organisation."
      />
    </Card>
  );
}
