import { Check } from 'lucide-react';
import type { ReactNode } from 'react';
import { LinkButton } from './link.tsx';
import { Card } from './page.tsx';

export interface ChecklistStep {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly isDone: boolean;
  /** Label and target of the link that starts the step. */
  readonly action: string;
  readonly to: string;
  /** Part of the page, such as `create` for its form. */
  readonly hash?: string;
  /** The link also switches to test mode. */
  readonly isTrial?: boolean;
}

interface ChecklistProps {
  readonly title: string;
  readonly steps: readonly ChecklistStep[];
  readonly actions?: ReactNode;
  /** Switches to test mode, for steps that try something out. */
  readonly onTrial?: () => void;
}

/** Steps of a setup. The first open step has the primary link. */
export function Checklist({ title, steps, actions, onTrial }: ChecklistProps) {
  const done = steps.filter(({ isDone }) => isDone).length;
  const next = steps.find(({ isDone }) => !isDone);
  return (
    <Card title={title} about={`${String(done)} of ${String(steps.length)} done`} actions={actions} flush>
      <div
        role="progressbar"
        aria-label={title}
        aria-valuemin={0}
        aria-valuemax={steps.length}
        aria-valuenow={done}
        className="bg-raised h-1"
      >
        <div
          className="bg-good h-full"
          style={{ width: `calc(100% * ${String(done)} / ${String(steps.length)})` }}
        />
      </div>
      <ol className="divide-line divide-y">
        {steps.map((step, index) => (
          <li key={step.id} className="flex flex-wrap items-center gap-3 px-4 py-3">
            <StepMark isDone={step.isDone} number={index + 1} />
            <div className="min-w-0 flex-[1_1_14rem]">
              <p className={step.isDone ? 'text-soft' : 'font-medium'}>
                {step.title}
                {step.isDone && <span className="sr-only"> (done)</span>}
              </p>
              {!step.isDone && <p className="text-soft text-xs">{step.about}</p>}
            </div>
            {!step.isDone && (
              <LinkButton
                to={step.to}
                {...(step.hash !== undefined && { hash: step.hash })}
                size="small"
                kind={step === next ? 'primary' : 'plain'}
                onClick={() => {
                  if (step.isTrial === true) onTrial?.();
                }}
              >
                {step.action}
              </LinkButton>
            )}
          </li>
        ))}
      </ol>
    </Card>
  );
}

function StepMark({ isDone, number }: Readonly<{ isDone: boolean; number: number }>) {
  return (
    <span
      aria-hidden
      className={`flex size-6 shrink-0 items-center justify-center rounded-full text-xs font-medium ${
        isDone ? 'bg-good-soft text-good' : 'bg-raised text-soft'
      }`}
    >
      {isDone ? <Check className="size-3.5" /> : number}
    </span>
  );
}
