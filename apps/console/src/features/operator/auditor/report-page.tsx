import type { Output } from '@millrace/sdk';
import { elapsedText } from '@millrace/sdk/text';
import { getRouteApi } from '@tanstack/react-router';
import { ShieldCheck } from 'lucide-react';
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
  { head: 'Rows checked', right: true, cell: ({ lookedAt }) => lookedAt },
  {
    head: 'Result',
    cell: ({ errors, notices }) => (
      <span className="flex flex-wrap justify-end gap-1 md:justify-start">
        <Badge tone={errors === 0 ? 'good' : 'bad'}>
          {errors === 0 ? 'no errors' : `errors: ${String(errors)}`}
        </Badge>
        {notices > 0 && (
          <Badge tone="warn">{notices === 1 ? '1 notice' : `${String(notices)} notices`}</Badge>
        )}
      </span>
    ),
  },
];

const findingColumns: readonly Column<Finding>[] = [
  {
    head: 'Finding',
    main: true,
    cell: ({ sentence, check, severity }) => (
      <>
        <Badge tone={severity === 'error' ? 'bad' : 'warn'}>{severity}</Badge> {sentence}
        <span className="text-soft block text-xs font-normal">{check}</span>
      </>
    ),
  },
  { head: 'Resource', cell: (finding) => <Subject finding={finding} /> },
  { head: 'Expected', right: true, cell: ({ expected }) => <span className="break-all">{expected}</span> },
  { head: 'Actual', right: true, cell: ({ actual }) => <span className="break-all">{actual}</span> },
  { head: 'Remedy', cell: ({ remedy }) => remedy },
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
          organisation
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
        title={report.isClean ? 'Audit without errors' : 'Audit with errors'}
        back={<TextLink to="/operator/auditor">Auditor</TextLink>}
        about={
          <>
            {report.kind === 'full' ? 'All data' : 'New data'} until <Timestamp at={report.snapshotAt} />
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
          { label: 'Errors', value: report.errors, note: 'amounts that disagree' },
          { label: 'Notices', value: report.notices, note: 'for information' },
          { label: 'Checks', value: checks.length },
          { label: 'Duration', value: elapsedText(report.durationMs) },
        ]}
      />
      <Card title="Findings" about="The first findings of each check; counts include all." flush>
        {report.findings.length === 0 ? (
          <EmptyState icon={ShieldCheck} title="No findings">
            All checks passed.
          </EmptyState>
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
