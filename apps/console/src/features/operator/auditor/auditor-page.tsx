import { elapsedText } from '@millrace/sdk/text';
import { getRouteApi } from '@tanstack/react-router';
import { Activity } from 'lucide-react';
import { useApiQuery } from '../../../api/queries.ts';
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
import { readLedgerCondition, type AuditReport } from './ledger-condition.ts';

const route = getRouteApi('/shell/inside/operator/auditor');

export const AuditorPage = operatorPage('Auditor', Auditor);

const columns: readonly Column<AuditReport>[] = [
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
        <Badge tone="good">no errors</Badge>
      ) : (
        <Badge tone="bad">{errors === 1 ? '1 error' : `${String(errors)} errors`}</Badge>
      ),
  },
  { head: 'Notices', right: true, cell: ({ notices }) => notices },
  { head: 'Duration', right: true, cell: ({ durationMs }) => elapsedText(durationMs) },
];

function Condition({ report }: Readonly<{ report: AuditReport }>) {
  return (
    <Note tone={report.isClean ? 'good' : 'bad'}>
      {report.isClean ? (
        <>
          The latest audit ran <RelativeTime at={report.snapshotAt} /> and found no errors.
        </>
      ) : (
        <>
          An audit found {report.errors === 1 ? '1 error' : `${String(report.errors)} errors`}{' '}
          <RelativeTime at={report.snapshotAt} />, and no full audit has passed since.
        </>
      )}{' '}
      <TextLink to="/operator/auditor/$reportId" params={{ reportId: report.id }}>
        View report
      </TextLink>
    </Note>
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
  const condition = useApiQuery(['admin', 'ledger-condition'], readLedgerCondition, { refetchMs: 10_000 });
  const isAll = Object.keys(filter).length === 0;
  return (
    <>
      <PageHeader
        title="Auditor"
        about="Compares ledger, meters, rentals and holds, which must agree to the nano-USD. Reports are kept for 90 days."
      />
      {/* The height of the note, so that the table does not move. */}
      <div className="mb-4 min-h-9">{condition.data != null && <Condition report={condition.data} />}</div>
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
                { value: 'true', label: 'Without errors' },
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
