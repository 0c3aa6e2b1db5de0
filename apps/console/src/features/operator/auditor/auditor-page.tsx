import type { Item } from '@millrace/sdk';
import { elapsedText } from '@millrace/sdk/text';
import { getRouteApi } from '@tanstack/react-router';
import { Activity } from 'lucide-react';
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
    head: 'Time',
    main: true,
    cell: ({ id, snapshotAt }) => (
      <TextLink to="/operator/auditor/$reportId" params={{ reportId: id }}>
        <Timestamp at={snapshotAt} />
      </TextLink>
    ),
  },
  { head: 'Type', cell: ({ kind }) => kind },
  {
    head: 'Result',
    cell: ({ isClean, errors }) =>
      isClean ? (
        <Badge tone="good">no drift</Badge>
      ) : (
        <Badge tone="bad">{errors === 1 ? '1 error' : `${String(errors)} errors`}</Badge>
      ),
  },
  { head: 'Notices', right: true, cell: ({ notices }) => notices },
  { head: 'Duration', right: true, cell: ({ durationMs }) => elapsedText(durationMs) },
];

function Latest({ report }: Readonly<{ report: Report }>) {
  return (
    <div className="mb-4">
      <Note tone={report.isClean ? 'good' : 'bad'}>
        The latest audit ran <RelativeTime at={report.snapshotAt} /> and{' '}
        {report.isClean ? 'found no drift.' : `found drift (errors: ${String(report.errors)}).`}{' '}
        <TextLink to="/operator/auditor/$reportId" params={{ reportId: report.id }}>
          View report
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
        about="Compares ledger, meters, rentals and holds, which must agree to the nano-USD. Reports are kept for 90 days."
      />
      {isAll && latest !== undefined && <Latest report={latest} />}
      <Card
        title="Reports"
        flush
        actions={
          <>
            <FilterField
              label="Type"
              hideLabel
              value={filter.kind}
              all="All types"
              choices={[
                { value: 'full', label: 'Full' },
                { value: 'incremental', label: 'Incremental' },
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
                { value: 'false', label: 'With errors' },
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
          icon={Activity}
          empty={isAll ? 'No audits yet' : 'No reports match'}
          hint={
            isAll
              ? 'A worker audits the ledger automatically. The first report appears within minutes.'
              : 'Remove a filter to see more reports.'
          }
        />
      </Card>
      <Note>
        To compare rentals with the engines, run <code>millrace-admin reconcile --dry-run</code> on a host of
        the installation.
      </Note>
      <div className="mt-4">
        <CommandHint command="millrace admin audit-report list" />
      </div>
    </>
  );
}
