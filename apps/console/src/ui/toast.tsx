import { Toast } from '@base-ui/react/toast';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';

/** Short messages after an action, read by screen readers, that disappear after a while. */
export function Toasts({ children }: Readonly<{ children: ReactNode }>) {
  return (
    <Toast.Provider timeout={6_000} limit={3}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className="fixed right-4 bottom-4 z-50 flex w-80 max-w-[calc(100vw-2rem)] flex-col gap-2">
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function ToastList() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      className="border-line bg-surface flex items-start justify-between gap-2 rounded-md border px-3 py-2 shadow-lg"
    >
      <div>
        <Toast.Title className="font-medium" />
        <Toast.Description className="text-soft" />
      </div>
      <Toast.Close aria-label="Dismiss" className="text-soft hover:bg-raised rounded p-0.5">
        <X aria-hidden className="size-4" />
      </Toast.Close>
    </Toast.Root>
  ));
}

/** `toast('Terminated', 'It cost $1.02.')` */
export function useToast(): (title: string, description?: string) => void {
  const { add } = Toast.useToastManager();
  return (title, description) => void add({ title, ...(description === undefined ? {} : { description }) });
}
