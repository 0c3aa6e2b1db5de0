import { Download } from 'lucide-react';
import type { ReactNode } from 'react';
import { useSession } from '../../api/session.tsx';
import { buttonClass } from '../../ui/button.tsx';
import { Money } from '../../ui/money.tsx';
import { EmptyState, Loading, Problem } from '../../ui/states.tsx';
import { RequestLink, secondsText, Stats } from './panel-layout.tsx';
import type { OutputFile, useGeneration } from './use-generation.ts';

interface OutputFilesProps {
  readonly state: ReturnType<typeof useGeneration>['state'];
  /** What is made, such as `picture`. */
  readonly what: string;
  /** What to do for the first one. */
  readonly empty: string;
  readonly show: (file: OutputFile, about: string) => ReactNode;
}

/** What was made, to look at and to keep, or what became of it instead. */
export function OutputFiles({ state, what, empty, show }: OutputFilesProps) {
  const { mode } = useSession().place;
  switch (state.kind) {
    case 'nothing':
      return (
        <EmptyState title={`No ${what} yet.`}>{empty} What it costs stands beside the button.</EmptyState>
      );
    case 'making':
      return <Loading what={`the ${what}; the model is at work`} />;
    case 'failed':
      return <Problem error={state.error} doing={`make the ${what}`} />;
    case 'made': {
      const { files, about, requestId, totalMs, costNanoUsd } = state.made;
      return (
        <div className="flex flex-col gap-3">
          <ul className="flex flex-wrap gap-4">
            {files.map((file) => (
              <li key={file.url} className="flex max-w-full flex-col items-start gap-2">
                {show(file, about)}
                <a href={file.url} download={file.name} className={buttonClass('plain', 'small')}>
                  <Download aria-hidden className="size-3.5" />
                  Download {file.name}
                </a>
              </li>
            ))}
          </ul>
          <Stats
            items={[
              ['In all', secondsText(totalMs)],
              [
                'Cost',
                mode === 'test' ? (
                  'nothing, in test mode'
                ) : costNanoUsd === null ? (
                  'being looked up…'
                ) : (
                  <Money key="cost" nano={String(costNanoUsd)} />
                ),
              ],
            ]}
          />
          {requestId !== null && <RequestLink requestId={requestId} />}
        </div>
      );
    }
  }
}
