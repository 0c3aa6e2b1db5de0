import type { Output } from '@millrace/sdk';
import { elapsedText } from '@millrace/sdk/text';
import { getRouteApi } from '@tanstack/react-router';
import { useApiQuery } from '../../../api/queries.ts';
import { Badge } from '../../../ui/badge.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { Card, KeyFigures, PageHeader } from '../../../ui/page.tsx';
import { EmptyState } from '../../../ui/states.tsx';
import { QueryPage } from '../../../ui/query-page.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { checkResults, type CheckResult } from './audit-checks.ts';
import { operatorPage } from '../common/operator-page.tsx';
import { TextLink } from '../../../ui/link.tsx';

const route = getRouteApi('/shell/inside/operator/auditor/$reportId');

type Report = Output<'adminGetAuditReport'>;
type Finding = Report['findings'][number];

export const ReportPage = operatorPage('Audit report', Loaded);

function Loaded() {
  const { reportId } = route.useParams();
  const report = useApiQuery(['admin', 'audit-report', reportId], (client, signal) =>
    client.admin.auditReports.get({ reportId }, { signal }),
  );
  return (
    <QueryPage
      query={report}
      title="Audit report"
      what="report"
      back={<TextLink to="/operator/auditor">Auditor</TextLink>}
    >
      {(loaded) => <Detail report={loaded} />}
    </QueryPage>
  );
}

const checkColumns: readonly Column<CheckResult>[] = [
  {
    head: 'Check',
    main: true,
    cell: ({ check, rule }) => (
      <>
        {check}
        <span className="text-soft block text-xs font-normal">{rule}</span>
      </>
    ),
  },
  { head: 'Looked at', right: true, cell: ({ lookedAt }) => lookedAt },
  {
    head: 'Result',
    cell: ({ errors, notices }) => (
      <span className="flex flex-wrap justify-end gap-1 md:justify-start">
        <Badge tone={errors === 0 ? 'good' : 'bad'}>
          {errors === 0 ? 'drift zero' : `${String(errors)} off`}
        </Badge>
        {notices > 0 && (
          <Badge tone="warn">{notices === 1 ? 'one notice' : `${String(notices)} notices`}</Badge>
        )}
      </span>
    ),
  },
];

const findingColumns: readonly Column<Finding>[] = [
  {
    head: 'What',
    main: true,
    cell: ({ sentence, check, severity }) => (
      <>
        <Badge tone={severity === 'error' ? 'bad' : 'warn'}>{severity}</Badge> {sentence}
        <span className="text-soft block text-xs font-normal">{check}</span>
      </>
    ),
  },
  { head: 'On', cell: (finding) => <Subject finding={finding} /> },
  { head: 'Should be', right: true, cell: ({ expected }) => <span className="break-all">{expected}</span> },
  { head: 'Is', right: true, cell: ({ actual }) => <span className="break-all">{actual}</span> },
  { head: 'What to do', cell: ({ remedy }) => remedy },
];

function Subject({ finding }: Readonly<{ finding: Finding }>) {
  const { subject, organisationId } = finding;
  return (
    <>
      <span className="break-all">
        {subject.kind} {subject.id}
      </span>
      {organisationId !== null && (
        <TextLink
          to="/operator/organisations/$organisationId"
          params={{ organisationId }}
          className="block text-xs"
        >
          its organisation
        </TextLink>
      )}
    </>
  );
}

function Detail({ report }: Readonly<{ report: Report }>) {
  const checks = checkResults(report);
  return (
    <>
      <PageHeader
        title={report.isClean ? 'Audit without drift' : 'Audit with drift'}
        back={<TextLink to="/operator/auditor">Auditor</TextLink>}
        about={
          <>
            {report.kind === 'full' ? 'Everything' : 'What was new'} until{' '}
            <Timestamp at={report.snapshotAt} />
            {report.since !== null && (
              <>
                , since <Timestamp at={report.since} />
              </>
            )}
          </>
        }
      />
      <KeyFigures
        items={[
          { label: 'Errors', value: report.errors, note: 'books that do not agree' },
          { label: 'Notices', value: report.notices, note: 'for reading' },
          { label: 'Checks', value: checks.length },
          { label: 'Took', value: elapsedText(report.durationMs) },
        ]}
      />
      <Card title="Findings" about="The first of each check; the counts are of all." flush>
        {report.findings.length === 0 ? (
          <EmptyState title="Nothing is off">Every check found what it expected.</EmptyState>
        ) : (
          <Table
            caption="Findings"
            columns={findingColumns}
            rows={report.findings}
            rowKey={({ check, subject }) => `${check} ${subject.kind} ${subject.id}`}
          />
        )}
      </Card>
      <Card title="Checks" flush>
        <Table caption="Checks" columns={checkColumns} rows={checks} rowKey={({ check }) => check} />
      </Card>
      <CommandHint command={`millrace admin audit-report get ${report.id}`} />
    </>
  );
}
