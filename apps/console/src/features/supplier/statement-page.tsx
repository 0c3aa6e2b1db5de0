import type { Output } from '@millrace/sdk';
import { exactDuration } from '@millrace/sdk/text';
import { getRouteApi } from '@tanstack/react-router';
import { BadgeDollarSign } from 'lucide-react';
import { useApiQuery } from '../../api/queries.ts';
import { CommandHint } from '../../ui/copy.tsx';
import { monthText } from '../../ui/logic/day-text.ts';
import { Money } from '../../ui/money.tsx';
import { Card, KeyFigures, PageHeader } from '../../ui/page.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { MachineName } from './machine-name.tsx';
import { QueryPage } from '../../ui/query-page.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { RequireSupplier } from './account.tsx';
import { TextLink } from '../../ui/link.tsx';

const route = getRouteApi('/shell/inside/supplier/statements/$statementId');

type Statement = Output<'supplierGetStatement'>;

export function StatementPage() {
  return <RequireSupplier title="Statement">{() => <Loaded />}</RequireSupplier>;
}

function Loaded() {
  const { statementId } = route.useParams();
  const statement = useApiQuery(['supplier', 'statement', statementId], (client, signal) =>
    client.supplier.statements.get({ statementId }, { signal }),
  );
  return (
    <QueryPage
      query={statement}
      title="Statement"
      what="statement"
      back={<TextLink to="/supplier/earnings">Earnings</TextLink>}
    >
      {(loaded) => <Detail statement={loaded} />}
    </QueryPage>
  );
}

const columns: readonly Column<Statement['lines'][number]>[] = [
  {
    head: 'Machine',
    main: true,
    cell: ({ machineId }) => <MachineName machineId={machineId} />,
  },
  { head: 'GPU time', right: true, cell: ({ gpuSeconds }) => exactDuration(Math.max(0, gpuSeconds)) },
  { head: 'Paid by tenants', right: true, cell: ({ grossNanoUsd }) => <Money nano={grossNanoUsd} /> },
  { head: 'Fee', right: true, cell: ({ feeNanoUsd }) => <Money nano={feeNanoUsd} /> },
  {
    head: 'Earned',
    right: true,
    cell: ({ grossNanoUsd, feeNanoUsd }) => <Money nano={BigInt(grossNanoUsd) - BigInt(feeNanoUsd)} />,
  },
];

function Detail({ statement }: Readonly<{ statement: Statement }>) {
  return (
    <>
      <PageHeader
        title={`Statement of ${monthText(statement.periodStart)}`}
        back={
          <TextLink to="/supplier/earnings" search={{ tab: 'statements' }}>
            Statements
          </TextLink>
        }
        about="Amounts posted in the month (UTC). The last minutes of a month may be in the next statement."
      />
      <KeyFigures
        items={[
          { label: 'Paid by tenants', value: <Money nano={statement.grossNanoUsd} /> },
          { label: 'Fee', value: <Money nano={statement.feeNanoUsd} /> },
          { label: 'Earned', value: <Money nano={statement.netNanoUsd} /> },
        ]}
      />
      <Card title="By machine" flush>
        {statement.lines.length === 0 ? (
          <EmptyState icon={BadgeDollarSign} title="No earnings in this month" />
        ) : (
          <Table
            caption="Statement lines"
            columns={columns}
            rows={statement.lines}
            rowKey={({ machineId }) => machineId ?? 'unknown'}
          />
        )}
      </Card>
      <CommandHint command={`millrace supplier statement get ${statement.id}`} />
    </>
  );
}
