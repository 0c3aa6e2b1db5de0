import {
  elapsedText,
  splitBy,
  typicalDurationText,
  type ExpectedSteps,
  type ExpectedStep,
  type Step,
} from '@millrace/sdk/text';
import { truncateTo, safeText } from '../framework/text.ts';

/** Renders progress as lines of text. Pure. */

/** A step with its duration. Running steps are timed by the local clock, because server and client clocks differ. */
export interface TimedStep extends Step {
  readonly elapsedMs: number | null;
}

const marks: Readonly<Record<Step['status'], string>> = {
  waiting: '·',
  running: '›',
  done: '✓',
  failed: '✗',
  undone: '–',
};
const colors: Readonly<Record<Step['status'], string>> = {
  waiting: '2',
  running: '36',
  done: '32',
  failed: '31',
  undone: '33',
};
const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const spinnerMs = 100;

export interface RenderOptions {
  readonly columns: number;
  readonly color: boolean;
  readonly nowMs: number;
}

/** Past and current steps, then the remaining expected steps. */
export function progressLines(
  plan: ExpectedSteps,
  steps: readonly TimedStep[],
  look: RenderOptions,
): readonly string[] {
  const last = steps.at(-1);
  const position = plan.findLastIndex(({ name }) => name === last?.name);
  const isStuck = last?.status === 'failed';
  const ahead = isStuck ? [] : plan.slice(position + 1).map(waiting);
  const widths = {
    name: Math.max(...[...steps, ...plan].map(({ name }) => name.length)),
    time: Math.max(...steps.map((step) => timeOf(step).length), shortTime),
  };
  const lines: string[] = [];
  for (const step of [...steps, ...ahead]) {
    const planned = plan.find(({ name }) => name === step.name);
    lines.push(paint(step, stepLine(step, planned, widths, look), look));
    if (step.status === 'failed' && step.message !== null)
      lines.push(fitToWidth(`    ${safeText(step.message)}`, look));
  }
  return lines;
}

interface Widths {
  readonly name: number;
  readonly time: number;
}

const shortTime = '9.9 s'.length;
const timeOf = ({ elapsedMs }: TimedStep): string => (elapsedMs === null ? '' : elapsedText(elapsedMs));

/** Times are aligned, and descriptions come last, because narrow windows cut off the end. */
function stepLine(
  step: TimedStep,
  planned: ExpectedStep | undefined,
  widths: Widths,
  look: RenderOptions,
): string {
  const isRunning = step.status === 'running';
  const mark = isRunning ? spinnerAt(look.nowMs) : marks[step.status];
  const usual =
    isRunning && planned !== undefined ? ` (${typicalDurationText(step.elapsedMs, planned)})` : '';
  const cells = [
    `  ${mark} ${safeText(step.name).padEnd(widths.name)}`,
    timeOf(step).padStart(widths.time),
    `${planned?.does ?? ''}${usual}`,
  ];
  return fitToWidth(cells.join('  ').trimEnd(), look);
}

/** One line per change, for outputs that cannot be redrawn. */
export function changeLine(plan: ExpectedSteps, step: TimedStep): string {
  const planned = plan.find(({ name }) => name === step.name);
  const does = planned === undefined ? '' : `: ${planned.does}`;
  if (step.status === 'running') {
    const usual = planned === undefined ? '' : ` (${typicalDurationText(0, planned)})`;
    return `${step.name}${does}${usual}`;
  }
  const took = step.elapsedMs === null ? '' : ` after ${elapsedText(step.elapsedMs)}`;
  const why = step.status === 'failed' && step.message !== null ? `: ${safeText(step.message)}` : '';
  return `${step.name} ${step.status}${took}${why}`;
}

function waiting({ name }: ExpectedStep): TimedStep {
  return { name, status: 'waiting', startedAt: null, endedAt: null, message: null, elapsedMs: null };
}

function spinnerAt(nowMs: number): string {
  const [turn] = splitBy(nowMs, spinnerMs);
  return spinner[turn % spinner.length] ?? marks.running;
}

function paint(step: Step, line: string, { color }: RenderOptions): string {
  return color ? `\u001B[${colors[step.status]}m${line}\u001B[0m` : line;
}

/** A wrapped line would break redrawing. */
function fitToWidth(line: string, { columns }: RenderOptions): string {
  return truncateTo(line, columns - 1);
}
