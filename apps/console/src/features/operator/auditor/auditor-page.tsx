import type { Item } from '@millrace/sdk';
import { elapsedText } from '@millrace/sdk/text';
import { getRouteApi } from '@tanstack/react-router';
import { Badge } from '../../../ui/badge.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { FilterField } from '../../../ui/field.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Card, PageHeader } from '../../../ui/page.tsx';
import { Note } from '../../../ui/states.tsx';
import type { Column } from '../../../ui/table.tsx';
import { RelativeTime, Timestamp } from '../../../ui/time.tsx';
import { operatorPage } from '../common/operator-page.tsx';
import { TextLink } from '../../../ui/link.tsx';

const route = getRouteApi('/shell/inside/operator/auditor');

type Report = Item<'adminListAuditReports'>;

export const AuditorPage = operatorPage('Auditor', Auditor);

const columns: readonly Column<Report>[] = [
  {
    head: 'When',
    main: true,
    cell: ({ id, snapshotAt }) => (
      <TextLink to="/operator/auditor/$reportId" params={{ reportId: id }}>
        <Timestamp at={snapshotAt} />
      </TextLink>
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

function Latest({ report }: Readonly<{ report: Report }>) {
  return (
    <div className="mb-4">
      <Note tone={report.isClean ? 'good' : 'bad'}>
        The last audit was <RelativeTime at={report.snapshotAt} /> and{' '}
        {report.isClean ? 'found no drift.' : `found ${String(report.errors)} that do not agree.`}{' '}
        <TextLink to="/operator/auditor/$reportId" params={{ reportId: report.id }}>
          Read it
        </TextLink>
      </Note>
    </div>
  );
}

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
      {isAll && latest !== undefined && <Latest report={latest} />}
      <Card
        title="Reports"
        flush
        actions={
          <>
            <FilterField
              label="Kind"
              hideLabel
              value={filter.kind}
              all="Both kinds"
              choices={[
                { value: 'full', label: 'full: everything' },
                { value: 'incremental', label: 'incremental: what is new' },
              ]}
              onValue={(kind) => void navigate({ search: (before) => ({ ...before, kind }) })}
            />
            <FilterField
              label="Result"
              hideLabel
              value={filter.clean}
              all="All results"
              choices={[
                { value: 'true', label: 'clean' },
                { value: 'false', label: 'with errors' },
              ]}
              onValue={(clean) => void navigate({ search: (before) => ({ ...before, clean }) })}
            />
          </>
        }
      >
        <PagedTable
          pages={pages}
          what="reports"
          caption="Audit reports"
          columns={columns}
          empty={isAll ? 'No audit was made yet' : 'No report fits'}
          hint={
            isAll
              ? 'A worker audits the books by itself; the first report comes within minutes of its start.'
              : 'Look at all kinds and results.'
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
