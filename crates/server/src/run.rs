//! Listening, connections, and leaving in good order.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

use crate::{App, registry::Watcher, routes};

/// Time for the head of a request to arrive, and between two requests of a connection.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// Bytes of a request's head, at most.
const HEAD_BYTES: usize = 64 << 10;
/// Time between two looks at the models' files.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// A server that listens already, so that its address is known.
pub struct Server {
    app: Arc<App>,
    listener: std::net::TcpListener,
    address: SocketAddr,
    threads: usize,
}

impl Server {
    pub(crate) fn new(
        app: Arc<App>,
        listener: std::net::TcpListener,
        threads: usize,
    ) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        Ok(Self { app, listener, address, threads })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `leave` says so, or SIGTERM or Ctrl-C comes; then finishes what is under way.
    pub fn run(self, leave: impl Future<Output = ()> + Send + 'static) -> std::io::Result<()> {
        let Self { app, listener, threads, .. } = self;
        let watching = watch_files(app.clone());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("serve")
            .enable_all()
            .build()?;
        let served = runtime.block_on(serve(app.clone(), listener, leave));
        app.queue.close();
        // What still computes is not waited for.
        runtime.shutdown_timeout(Duration::from_millis(200));
        drop(watching.join());
        served
    }
}

fn watch_files(app: Arc<App>) -> std::thread::JoinHandle<()> {
    let mut watcher = Watcher::new(&app.models);
    std::thread::spawn(move || {
        // The rows are read before somebody asks for them.
        for served in app.models.all() {
            if let Err(failure) = served.study() {
                tracing::warn!(model = %served.name, error = %failure.message, "the data cannot be shown");
            }
        }
        while !app.leaving() {
            std::thread::sleep(LOOK_EVERY);
            watcher.look(&app.models, &app.metrics);
        }
    })
}

async fn serve(
    app: Arc<App>,
    listener: std::net::TcpListener,
    leave: impl Future<Output = ()>,
) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let router = routes::router(app.clone());
    let graceful = GracefulShutdown::new();
    let connections = Arc::new(Semaphore::new(app.limits.connections));
    let mut told = std::pin::pin!(told_to_leave(leave));
    loop {
        // Whoever comes while there are too many connections waits in the system's queue.
        let permit = tokio::select! {
            permit = connections.clone().acquire_owned() => permit.expect("never closed"),
            () = &mut told => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut told => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let connection = connection(stream, router.clone());
                let connection = graceful.watch(connection);
                let gauge = app.metrics.connections.clone();
                gauge.inc();
                tokio::spawn(async move {
                    // A client that breaks off is no error of ours.
                    drop(connection.await);
                    gauge.dec();
                    drop(permit);
                });
            }
            // Too many open files, say: others may close theirs.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    drop(listener);
    app.leave();
    let began = Instant::now();
    let left = tokio::time::timeout(app.limits.grace, graceful.shutdown()).await;
    tracing::info!(seconds = began.elapsed().as_secs_f64(), complete = left.is_ok(), "left");
    Ok(())
}

fn connection(
    stream: TcpStream,
    router: Router,
) -> http1::Connection<TokioIo<TcpStream>, TowerToHyperService<Router>> {
    // Small answers go at once.
    drop(stream.set_nodelay(true));
    let service = TowerToHyperService::new(router);
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
}

async fn told_to_leave(leave: impl Future<Output = ()>) {
    #[cfg(unix)]
    let term = async {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut term) => {
                term.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let term = std::future::pending::<()>();
    tokio::select! {
        () = leave => {}
        () = term => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}
