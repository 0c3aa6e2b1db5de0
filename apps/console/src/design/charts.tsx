import { ratio, usdNumberText } from '@millrace/sdk/text';
import { Chart } from '../ui/chart.tsx';
import { Card } from '../ui/page.tsx';
import { Example, Section } from './section.tsx';

const start = Date.parse('2026-11-16T00:00:00Z') * 0.001;
const minutes = Array.from({ length: 288 }, (_, index) => index);
// No samples for two hours, as while a machine is stopped.
const sampled = minutes.filter((index) => index < 120 || index > 144);
const seconds = sampled.map((index) => start + index * 300);
const wave = (index: number, shift: number): number => 50 + 45 * Math.sin(index * 0.07 + shift);
const twoLines = [
  { label: 'GPU 0', values: sampled.map((index) => wave(index, 0)) },
  { label: 'GPU 1', values: sampled.map((index) => (index > 60 && index < 80 ? null : wave(index, 1))) },
];
const manyLines = Array.from({ length: 9 }, (_, gpu) => ({
  label: `GPU ${String(gpu)}`,
  values: sampled.map((index) => wave(index, gpu) * 1.1e9),
}));
const days = Array.from({ length: 31 }, (_, index) => index);
const daySeconds = days.map((index) => start + index * 86_400);
const spend = [
  { label: 'Spent', values: days.map((index) => (index % 7 === 3 ? 0 : 3 + (index % 5) * 2.37)) },
];

const percent = (value: number): string => `${value.toFixed(1)} %`;
const gib = (value: number): string => `${ratio(value, 1_024 ** 3).toFixed(1)} GiB`;

export function ChartExamples() {
  return (
    <Section title="Charts">
      <Example name="Lines with gaps">
        <Card title="GPU utilisation">
          <Chart
            label="GPU utilisation"
            seconds={seconds}
            series={twoLines}
            format={percent}
            base="percent"
          />
        </Card>
      </Example>
      <Example name="More series than colours, bytes">
        <Card title="GPU memory">
          <Chart label="GPU memory" seconds={seconds} series={manyLines} format={gib} base="binary" />
        </Card>
      </Example>
      <Example name="One bar per UTC day">
        <Card title="Daily spending">
          <Chart
            label="Daily spending"
            kind="bars"
            seconds={daySeconds}
            series={spend}
            format={usdNumberText}
          />
        </Card>
      </Example>
    </Section>
  );
}
