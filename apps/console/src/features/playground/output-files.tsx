import { Download, Image } from 'lucide-react';
import type { ReactNode } from 'react';
import { useSession } from '../../api/session.tsx';
import { buttonClass } from '../../ui/button.tsx';
import { EmptyState, Loading, Problem } from '../../ui/states.tsx';
import { RequestCost } from './request-cost.tsx';
import { RequestLink, secondsText, Stats } from './panel-layout.tsx';
import type { OutputFile, useGeneration } from './use-generation.ts';

interface OutputFilesProps {
  readonly state: ReturnType<typeof useGeneration>['state'];
  /** Noun, such as `image`. */
  readonly what: string;
  readonly empty: string;
  readonly show: (file: OutputFile, about: string) => ReactNode;
}

export function OutputFiles({ state, what, empty, show }: OutputFilesProps) {
  const { mode } = useSession().place;
  switch (state.kind) {
    case 'nothing':
      return (
        <EmptyState icon={Image} title={`No ${what} yet`}>
          {empty} The price is shown next to the button.
        </EmptyState>
      );
    case 'making':
      return <Loading what={`the ${what}`} />;
    case 'failed':
      return <Problem error={state.error} doing={`generate the ${what}`} />;
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
              ['Total time', secondsText(totalMs)],
              [
                'Cost',
                <RequestCost key="cost" nano={mode === 'test' ? 0 : costNanoUsd} requestId={requestId} />,
              ],
            ]}
          />
          {requestId !== null && <RequestLink requestId={requestId} />}
        </div>
      );
    }
  }
}
