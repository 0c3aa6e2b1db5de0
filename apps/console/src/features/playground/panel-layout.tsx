import type { Millrace } from '@millrace/sdk';
import type { ReactNode } from 'react';
import { Code } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, Id } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { buildSnippets, type SnippetRequest } from './snippets.ts';
import type { Gateway } from './gateway.ts';
import { ModelPrice } from './model-price.tsx';
import type { CallableModel } from './playground-page.tsx';
import { useInferenceUrl } from './use-gateway.ts';
import { TextLink } from '../../ui/link.tsx';

export interface PanelProps {
  readonly gateway: Gateway<Millrace>;
  readonly model: CallableModel;
  readonly select: ReactNode;
}

interface PanelLayoutProps extends Omit<PanelProps, 'gateway'> {
  readonly settings: ReactNode;
  readonly request: SnippetRequest;
  readonly children: ReactNode;
}

/** Content on the left, settings on the right; stacked on small screens. */
export function PanelLayout({ model, select, settings, request, children }: PanelLayoutProps) {
  return (
    <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_17rem]">
      <div className="min-w-0">{children}</div>
      <aside aria-label="Settings" className="flex min-w-0 flex-col gap-3">
        {select}
        <ModelPrice model={model} />
        {settings}
        <ViewCode request={request} />
      </aside>
    </div>
  );
}

export function ViewCode(props: Readonly<{ request: SnippetRequest; size?: 'small' | 'medium' }>) {
  const { request, size = 'medium' } = props;
  const [isOpen, setOpen] = useState(false);
  const [language, setLanguage] = useState('curl');
  const inferenceUrl = useInferenceUrl() ?? globalThis.location.origin;
  const snippets = isOpen ? buildSnippets(request, { apiUrl: globalThis.location.origin, inferenceUrl }) : [];
  return (
    <>
      <Button size={size} icon={<Code aria-hidden className="size-4" />} onClick={() => setOpen(true)}>
        View code
      </Button>
      <Dialog
        title="Use in your code"
        about={
          <>
            Uses the model and settings of this page. Set <code>MILLRACE_API_KEY</code> to an API key:{' '}
            <TextLink to="/keys">create one</TextLink>.
          </>
        }
        open={isOpen}
        onClose={() => setOpen(false)}
      >
        <Tabs
          label="Language"
          open={language}
          onOpen={setLanguage}
          tabs={snippets.map(({ id, label, code }) => ({
            id,
            label,
            content: () => <CodeBlock code={code} what={`${label} code`} />,
          }))}
        />
      </Dialog>
    </>
  );
}

/** Name-value pairs in one wrapping line. */
export function Stats({
  items,
}: Readonly<{ items: readonly (readonly [name: string, value: ReactNode] | null)[] }>) {
  return (
    <dl className="text-soft flex flex-wrap gap-x-4 gap-y-1 text-xs">
      {items
        .filter((item) => item !== null)
        .map(([name, value]) => (
          <div key={name} className="flex gap-1">
            <dt>{name}</dt>
            <dd className="text-ink tabular-nums">{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export function RequestLink({ requestId }: Readonly<{ requestId: string }>) {
  return (
    <span className="text-soft flex flex-wrap items-center gap-x-2 text-xs">
      <Id value={requestId} what="request ID" />
      <TextLink to="/usage" search={{ request: requestId }}>
        Request details
      </TextLink>
    </span>
  );
}

export const secondsText = (ms: number): string => `${(ms * 0.001).toFixed(2)} s`;
