import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { HeadlineMoney, Money, PerHour } from '../ui/money.tsx';
import { Card, DescriptionList, KeyFigures } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { Timestamp } from '../ui/time.tsx';
import { Example, Section } from './section.tsx';

const rows = [
  { id: 1, name: 'train-1', status: 'running', cost: 248_749_999_999n },
  { id: 2, name: 'a-rental-with-a-rather-long-name-that-wraps', status: 'stopped', cost: 61_900n },
];

export function DataExamples() {
  return (
    <Section title="Data">
      <Example name="KeyFigures with a lead figure; HeadlineMoney shows the exact amount on hover and focus">
        <KeyFigures
          items={[
            {
              label: 'Balance',
              value: <HeadlineMoney nano={248_749_999_999n} />,
              note: 'Lasts 12 days',
              lead: true,
            },
            { label: 'Current cost', value: <HeadlineMoney nano={12_490_000_000n} per="h" /> },
            { label: 'Last request', value: <HeadlineMoney nano={61_900n} /> },
            { label: 'GPUs', value: '42' },
          ]}
        />
      </Example>
      <Example name="Money, PerHour, Timestamp">
        <p className="flex flex-wrap gap-4">
          <Money nano={248_749_999_999n} />
          <Money nano={5_000_000_000n} signed />
          <PerHour usd={2.49} />
          <Timestamp at="2026-11-18T10:00:00Z" />
        </p>
      </Example>
      <Example name="Cards: strong, plain, quiet">
        <Card title="Strong" about="The first action of a page" weight="strong">
          <Button kind="primary">Top up</Button>
        </Card>
        <Card title="Plain" about="Most cards" actions={<Button size="small">Edit</Button>}>
          <DescriptionList
            items={[
              ['Region', 'eu-north'],
              ['Image', 'ubuntu-24.04'],
            ]}
          />
        </Card>
        <Card title="Quiet" about="Side information" weight="quiet">
          Text without a box.
        </Card>
      </Example>
      <Example name="Table">
        <Card title="Rentals" flush>
          <Table
            caption="Rentals"
            rows={rows}
            columns={[
              { head: 'Name', main: true, cell: ({ name }) => name },
              {
                head: 'Status',
                cell: ({ status }) => <Badge tone={status === 'running' ? 'good' : 'plain'}>{status}</Badge>,
              },
              { head: 'Cost', right: true, cell: ({ cost }) => <Money nano={cost} /> },
            ]}
          />
        </Card>
      </Example>
    </Section>
  );
}
