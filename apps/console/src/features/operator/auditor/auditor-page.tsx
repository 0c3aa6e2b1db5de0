import type { Item } from '@millrace/sdk';
import { elapsedText } from '@millrace/sdk/text';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Badge } from '../../../ui/badge.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { SelectField } from '../../../ui/field.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Card, PageHeader } from '../../../ui/page.tsx';
import { EmptyState, Note } from '../../../ui/states.tsx';
import type { Column } from '../../../ui/table.tsx';
import { RelativeTime, Timestamp } from '../../../ui/time.tsx';
import { RequireOperator } from '../common/require-operator.tsx';

const route = getRouteApi('/shell/inside/operator/auditor');

type Report = Item<'adminListAuditReports'>;

export function AuditorPage() {
  return (
    <RequireOperator title="Auditor">
      <Auditor />
    </RequireOperator>
  );
}

const columns: readonly Column<Report>[] = [
  {
    head: 'When',
    main: true,
    cell: ({ id, snapshotAt }) => (
      <Link to="/operator/auditor/$reportId" params={{ reportId: id }} className="underline">
        <Timestamp at={snapshotAt} />
      </Link>
    ),
  },
  { head: 'Kind', cell: ({ kind }) => kind },
  {
    head: 'Result',
    cell: ({ isClean, errors }) =>
      isClean ? (
        <Badge tone="good">clean: no drift</Badge>
      ) : (
        <Badge tone="bad">{errors === 1 ? 'one error' : `${String(errors)} errors`}</Badge>
      ),
  },
  { head: 'Notices', right: true, cell: ({ notices }) => notices },
  { head: 'Took', right: true, cell: ({ durationMs }) => elapsedText(durationMs) },
];

function Auditor() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const pages = usePages(
    ['admin', 'audit-reports', filter],
    (client, signal) => client.admin.auditReports.list({ ...filter, limit: 50 }, { signal }),
    { refetchMs: 10_000 },
  );
  const latest = pages.data?.pages[0]?.items[0];
  const isAll = Object.keys(filter).length === 0;
  return (
    <>
      <PageHeader
        title="Auditor"
        about="It compares ledger, meters, rentals and holds, which must agree to the nano-dollar. Reports are kept for 90 days."
      />
      {isAll && latest !== undefined && (
        <div className="mb-4">
          <Note tone={latest.isClean ? 'good' : 'bad'}>
            The last audit was <RelativeTime at={latest.snapshotAt} /> and{' '}
            {latest.isClean ? 'found no drift.' : `found ${String(latest.errors)} that do not agree.`}{' '}
            <Link to="/operator/auditor/$reportId" params={{ reportId: latest.id }} className="underline">
              Read it
            </Link>
          </Note>
        </div>
      )}
      <Card
        title="Reports"
        flush
        actions={
          <>
            <SelectField
              label="Kind"
              hideLabel
              value={filter.kind ?? ''}
              choices={[
                { value: '', label: 'Both kinds' },
                { value: 'full', label: 'full: everything' },
                { value: 'incremental', label: 'incremental: what is new' },
              ]}
              onChange={(event) => {
                const kind = (['full', 'incremental'] as const).find((each) => each === event.target.value);
                void navigate({ search: (before) => ({ ...before, kind }) });
              }}
            />
            <SelectField
              label="Result"
              hideLabel
              value={filter.clean ?? ''}
              choices={[
                { value: '', label: 'All results' },
                { value: 'true', label: 'clean' },
                { value: 'false', label: 'with errors' },
              ]}
              onChange={(event) => {
                const clean = (['true', 'false'] as const).find((each) => each === event.target.value);
                void navigate({ search: (before) => ({ ...before, clean }) });
              }}
            />
          </>
        }
      >
        <PagedTable
          pages={pages}
          what="reports"
          caption="Audit reports"
          columns={columns}
          rowKey={({ id }) => id}
          empty={
            <EmptyState title={isAll ? 'No audit was made yet' : 'No report fits'}>
              {isAll
                ? 'A worker audits the books by itself; the first report comes within minutes of its start.'
                : 'Look at all kinds and results.'}
            </EmptyState>
          }
        />
      </Card>
      <Note>
        What engines have and rentals do not know, and the reverse, is looked at by{' '}
        <code>millrace-admin reconcile --dry-run</code> on a host of the installation.
      </Note>
      <div className="mt-4">
        <CommandHint command="millrace admin audit-report list" />
      </div>
    </>
  );
}
