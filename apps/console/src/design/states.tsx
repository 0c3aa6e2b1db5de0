import { HardDrive } from 'lucide-react';
import { Badge, StateBadge, type Tone } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Card } from '../ui/page.tsx';
import { ChartSkeleton, LinesSkeleton, PageSkeleton, TableSkeleton } from '../ui/skeleton.tsx';
import { EmptyState, Loading, Note, Problem } from '../ui/states.tsx';
import { Example, Section } from './section.tsx';

const tones: readonly Tone[] = ['good', 'info', 'warn', 'bad', 'plain'];
const noteTones = ['info', 'good', 'warn', 'bad'] as const;
const states = ['running', 'starting', 'unknown', 'failed', 'stopped', 'node_ready', 'node_quarantined'];

export function StateExamples() {
  return (
    <Section title="States">
      <Example name="Badge by tone, label without a tone, StateBadge">
        <div className="flex flex-wrap gap-2">
          {tones.map((tone) => (
            <Badge key={tone} tone={tone}>
              {tone}
            </Badge>
          ))}
          <Badge>label</Badge>
          {states.map((state) => (
            <StateBadge key={state} state={state} />
          ))}
        </div>
      </Example>
      <Example name="Note">
        <div className="flex flex-col gap-2">
          {noteTones.map((tone) => (
            <Note key={tone} tone={tone}>
              A note with the tone {tone}.
            </Note>
          ))}
        </div>
      </Example>
      <Example name="Problem">
        <Problem
          error={new Error('The volume is attached.')}
          doing="delete the volume"
          retry={() => undefined}
        />
      </Example>
      <Example name="EmptyState">
        <Card>
          <EmptyState
            icon={HardDrive}
            title="No volumes yet"
            action={<Button kind="primary">Create volume</Button>}
          >
            Create one for data that must outlive a machine.
          </EmptyState>
        </Card>
      </Example>
      <Example name="Skeletons: lines, table, chart, page; Loading">
        <Card title="Lines" flush>
          <LinesSkeleton what="settings" />
        </Card>
        <Card title="Table" flush>
          <TableSkeleton what="rentals" columns={4} />
        </Card>
        <Card title="Chart">
          <ChartSkeleton what="metrics" height={160} />
        </Card>
        <PageSkeleton what="rental" />
        <Loading what="sign-in" />
      </Example>
    </Section>
  );
}
